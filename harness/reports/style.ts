/** For the files that still import these from here. */
export { readableDuration as seconds } from '../common/durations.ts';
export * from '../common/terminal.ts';
