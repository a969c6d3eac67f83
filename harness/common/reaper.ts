/**
 * Ends the process groups of Muster after Muster has died in any way, SIGKILL included: a small process holds the end
 * of a pipe, and knows the groups written to it.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** Seconds between SIGTERM and SIGKILL. */
const GRACE_SECONDS = 2;

/** Shell script: reads `+ GROUP` and `- GROUP`, and ends the remaining groups at the end of the pipe. */
const SCRIPT = `
trap '' HUP INT TERM
groups=
while read -r sign group; do
  others=
  for one in $groups; do [ "$one" = "$group" ] || others="$others $one"; done
  groups=$others
  [ "$sign" = - ] || groups="$groups $group"
done
[ -n "$groups" ] || exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
left=${GRACE_SECONDS * 10}
while [ "$left" -gt 0 ]; do
  living=
  for group in $groups; do ! kill -s 0 -- "-$group" || living=1; done
  [ -n "$living" ] || exit 0
  sleep 0.1
  left=$((left - 1))
done
for group in $groups; do kill -s KILL -- "-$group"; done
`;

let reaper: ChildProcess | undefined;

/** Ties a group to the life of this process. The result unties it after its end. */
export function endWithUs(group: number): () => void {
  tell(`+ ${group}`);
  return () => tell(`- ${group}`);
}

function tell(line: string): void {
  reaper ??= started();
  // Written synchronously, before Muster can die. Without a process to spare there is no reaper.
  if (reaper.stdin?.writable === true) reaper.stdin.write(`${line}\n`);
}

function started(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT], {
    // Own session, so that neither a terminal nor a signal to our group ends it.
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  child.unref();
  (child.stdin as { unref?(): void } | null)?.unref?.();
  return child;
}
