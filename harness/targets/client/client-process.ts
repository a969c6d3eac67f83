/** One run of a client: its shell line in a process group of its own, and its standard output by lines. */
import { ProcessGroup } from '../launch/process-group.ts';
import type { ClientEars, ClientRun } from '../opened.ts';
import { complaintsIn, Lines } from './lines.ts';

/** A client holds nothing that is lost when it is killed. */
const GRACE_MS = 2000;

/** Starts it. Never throws: a line that cannot be started ends at once. */
export function startClientProcess(
  line: string,
  env: Readonly<Record<string, string | undefined>>,
  { line: heard, ended }: ClientEars,
): ClientRun {
  const lines = new Lines(heard);
  const group = new ProcessGroup(line, env, { graceMs: GRACE_MS, onStdout: (output) => lines.add(output) });
  void group.ended.then(() => {
    lines.end();
    ended();
  });
  return {
    get how() {
      const how = group.endedByItself;
      return how === undefined ? undefined : `${how}${complaintsIn(group.stderr)}`;
    },
    get code() {
      return group.code;
    },
    get diagnostics() {
      return group.stderr;
    },
    stop: () => group.stop(),
  };
}
