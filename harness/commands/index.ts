import type { Argv } from 'yargs';
import { check } from './check.ts';
import { demo } from './demo.ts';
import { replay } from './replay.ts';

/** Every command, in the order in which help shows them. */
export function register(cli: Argv): Argv {
  return cli.command(demo).command(check).command(replay);
}
