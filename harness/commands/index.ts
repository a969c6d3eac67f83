/** Every command, in the order in which help shows them. */
import type { CommandModule } from 'yargs';
import { check } from './check.ts';
import { demo } from './demo.ts';

export const commands = [demo, check] as unknown as readonly CommandModule[];
