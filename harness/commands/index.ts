/** Every command, in the order in which help shows them. */
import type { CommandModule } from 'yargs';
import { check } from './check.ts';
import { replay } from './replay.ts';

export const commands: readonly CommandModule[] = [check, replay];
