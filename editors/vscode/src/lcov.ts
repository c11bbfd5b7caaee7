/** Coverage as `trellis test --coverage=lcov:FILE` writes it. */

/** A line of a file and the number of times that it was passed. */
export interface CoveredLine {
  /** The line, from 1. */
  line: number;
  count: number;
}

/** Returns the lines of each file in a report, in order. */
export function coverageIn(report: string): Map<string, CoveredLine[]> {
  const files = new Map<string, CoveredLine[]>();
  let lines: CoveredLine[] | undefined;
  for (const record of report.split(/\r?\n/)) {
    if (record.startsWith("SF:")) {
      const path = record.slice(3);
      lines = files.get(path) ?? [];
      files.set(path, lines);
    } else if (record.startsWith("DA:")) {
      const [line, count] = record.slice(3).split(",").map(Number);
      if (lines !== undefined && Number.isInteger(line) && Number.isInteger(count)) lines.push({ line: line!, count: count! });
    } else if (record === "end_of_record") {
      lines = undefined;
    }
  }
  return files;
}
