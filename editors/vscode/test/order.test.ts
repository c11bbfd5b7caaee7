import assert from "node:assert/strict";
import { test } from "node:test";
import { Newest, OneAtATime } from "../src/order.ts";

/** A promise that is kept when somebody says so. */
function held<T>() {
  let keep: (value: T) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const promise = new Promise<T>((resolve, reject) => ([keep, fail] = [resolve, reject]));
  return { promise, keep, fail };
}

test("an older answer never replaces a newer one", async () => {
  const newest = new Newest();
  const [first, second, third] = [held<string>(), held<string>(), held<string>()];
  const answers = [first, second, third].map(({ promise }) => newest.of(promise));
  third.keep("third");
  assert.equal(await answers[2], "third");
  second.keep("second");
  first.keep("first");
  assert.deepEqual(await Promise.all(answers), [undefined, undefined, "third"]);
  assert.equal(await newest.of(Promise.resolve("fourth")), "fourth");
});

test("acts do not overlap, and what is asked for meanwhile comes once, afterwards", async () => {
  const acts: ReturnType<typeof held<void>>[] = [];
  const one = new OneAtATime(() => {
    acts.push(held<void>());
    return acts.at(-1)!.promise;
  });
  const all = [one.ask(), one.ask(), one.ask()];
  assert.equal(acts.length, 1);
  acts[0]!.keep();
  await acts[0]!.promise;
  await Promise.resolve();
  assert.equal(acts.length, 2);
  acts[1]!.keep();
  await Promise.all(all);
  assert.equal(acts.length, 2);
  // Later ones begin at once.
  const later = one.ask();
  assert.equal(acts.length, 3);
  acts[2]!.keep();
  await later;
});

test("an act that fails does not stand in the way of the next one", async () => {
  let acts = 0;
  const one = new OneAtATime(async () => {
    acts += 1;
    if (acts === 1) throw new Error("no");
  });
  await assert.rejects(one.ask());
  await one.ask();
  assert.equal(acts, 2);
});
