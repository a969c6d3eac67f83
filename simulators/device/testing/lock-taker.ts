/** Child process of `lock-contest.ts`. */
import process from 'node:process';
import { type Lock, lockDirectory } from '../device-directory.ts';

let lock: Lock | undefined;

process.on('message', (message: { take: string } | { release: true }) => {
  if ('release' in message) {
    lock?.release();
    lock = undefined;
    process.send?.('released');
    return;
  }
  try {
    lock = lockDirectory(message.take);
    process.send?.('got it');
  } catch (error) {
    process.send?.(error instanceof Error ? error.name : String(error));
  }
});
process.send?.('ready');
