/**
 * Ends the process groups that Muster has started when Muster is gone, however it went: SIGKILL leaves no time for
 * anything. One small process holds the end of a pipe, and a group is what stands in it until it is taken back.
 */
import { type ChildProcess, spawn } from 'node:child_process';

/** Seconds that groups have to end by themselves. */
const GRACE_SECONDS = 2;

/** Reads `+ GROUP` and `- GROUP`. At the end of the pipe it ends the groups that are left. */
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

/** From now on that group ends with this process. The result takes it back, once the group has ended. */
export function endWithUs(group: number): () => void {
  tell(`+ ${group}`);
  return () => tell(`- ${group}`);
}

function tell(line: string): void {
  reaper ??= started();
  // Written at once, before anything else happens. A machine without a process to spare has no reaper.
  if (reaper.stdin?.writable === true) reaper.stdin.write(`${line}\n`);
}

function started(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT], {
    // A session of its own: a terminal ends it no more than a signal to our group.
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  // Neither keeps this process from ending.
  child.unref();
  (child.stdin as { unref?(): void } | null)?.unref?.();
  return child;
}
