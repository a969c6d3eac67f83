/** For the files that still import the exit codes from here. */
export { EXIT } from '../common/exit-codes.ts';
