/** Starts a helper process that ends all process groups of Muster when Muster dies, even by SIGKILL. */
import { type ChildProcess, spawn } from 'node:child_process';

/** Seconds between SIGTERM and SIGKILL. */
const GRACE_SECONDS = 2;

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

export function endWithUs(group: number): () => void {
  tell(`+ ${group}`);
  return () => tell(`- ${group}`);
}

function tell(line: string): void {
  reaper ??= started();
  // Writes the line at once, because Muster may die at any time. Skips the line if the helper process could not start.
  if (reaper.stdin?.writable === true) reaper.stdin.write(`${line}\n`);
}

function started(): ChildProcess {
  const child = spawn('/bin/sh', ['-c', SCRIPT], {
    // Starts a new session, so that signals to the terminal or to Muster's group do not reach the helper process.
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
