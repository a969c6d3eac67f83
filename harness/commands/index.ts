import type { Argv } from 'yargs';
import { check } from './check.ts';
import { demo } from './demo.ts';
import { explain } from './explain.ts';
import { fleet } from './fleet.ts';
import { keygen } from './keygen.ts';
import { list } from './list.ts';
import { merge } from './merge.ts';
import { replay } from './replay.ts';
import { simulate } from './simulate.ts';
import { verify } from './verify.ts';

/** Every command, in the order in which help shows them. */
export function register(cli: Argv): Argv {
  return cli
    .command(demo)
    .command(check)
    .command(simulate)
    .command(fleet)
    .command(merge)
    .command(list)
    .command(explain)
    .command(replay)
    .command(verify)
    .command(keygen);
}
