/** The program `trellis`: where it is, which version it is, and how it is run. Nothing is ever looked for in a workspace. */

import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";

/** The oldest version that has everything the extension asks for. */
export const FLOOR = "0.1.0";

/** The output of a program that ended. */
export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Returns whether a file may be executed. */
async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/**
 * Returns the path of the program: the setting, if there is one, else the first `trellis` on the `PATH`.
 * Relative entries of the `PATH` are left out, since they may lie in the workspace.
 */
export async function findProgram(setting: string, path: string, windows = process.platform === "win32"): Promise<string | undefined> {
  if (setting !== "") return isAbsolute(setting) && (await isExecutable(setting)) ? setting : undefined;
  for (const folder of path.split(delimiter).filter((entry) => isAbsolute(entry))) {
    const file = join(folder, windows ? "trellis.exe" : "trellis");
    if (await isExecutable(file)) return file;
  }
  return undefined;
}

/** Returns the version in the output of `trellis --version`. */
export function versionIn(output: string): string | undefined {
  return /^trellis (\d+\.\d+\.\d+)/.exec(output)?.[1];
}

/** Returns whether one version is older than another; both are `major.minor.patch`. */
export function isOlder(version: string, than: string): boolean {
  const [left, right] = [version, than].map((text) => text.split(".").map(Number)) as [number[], number[]];
  for (let at = 0; at < 3; at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Returns what people are told where the program was not found, with what helps. */
export function missingProgram(setting: string): string {
  if (setting !== "") return `The setting \`trellis.path\` leads to no program: ${setting}. Correct it, or empty it to use the \`trellis\` on the PATH.`;
  return "The program `trellis` is not on the PATH of this editor. Name it in the setting `trellis.path`, or install it and restart the language server.";
}

/** Returns what people are told of a program that cannot be used, with what helps; `undefined` of one that can. */
export function unfit(program: string, version: string | undefined): string | undefined {
  if (version === undefined) return `\`${program}\` is no \`trellis\`. Name another program in the setting \`trellis.path\`.`;
  if (!isOlder(version, FLOOR)) return undefined;
  return `\`${program}\` is ${version}, and this extension needs ${FLOOR} or newer. Install a newer one and restart the language server, or name another in the setting \`trellis.path\`.`;
}

/** Runs a program to its end; exit codes other than 0 are no error, a program that cannot be started is one. */
export function run(program: string, args: string[], cwd: string, signal?: AbortSignal): Promise<Ended> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, signal, maxBuffer: 256 << 20, windowsHide: true }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") resolve({ code, stdout, stderr });
      else reject(error);
    });
  });
}
