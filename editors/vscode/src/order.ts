/** The order of what takes its time: answers that overtake each other, and acts that may not overlap. */

/** Lets the newest of several questions be answered: what an older one finds is passed over. */
export class Newest {
  private asked = 0;

  /** Returns what a question comes to; `undefined` if another one was asked since. */
  async of<T>(answer: Promise<T>): Promise<T | undefined> {
    this.asked += 1;
    const asked = this.asked;
    const found = await answer;
    return asked === this.asked ? found : undefined;
  }
}

/** Does something once at a time: whatever is asked for meanwhile comes to one more time, afterwards. */
export class OneAtATime {
  private going: Promise<void> | undefined;
  private isAsked = false;

  constructor(private readonly act: () => Promise<void>) {}

  /** Asks for it. It is over when nothing is left to do. */
  ask(): Promise<void> {
    this.isAsked = true;
    this.going ??= this.go();
    return this.going;
  }

  private async go(): Promise<void> {
    try {
      while (this.isAsked) {
        this.isAsked = false;
        await this.act();
      }
    } finally {
      this.going = undefined;
    }
  }
}
