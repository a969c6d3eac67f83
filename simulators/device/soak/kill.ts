/** Kills an agent under load: 200 times, or as often as the first argument says. The exit code is 1 when anything was lost. */
import process from 'node:process';
import { killLoop } from '../testing/kill-loop.ts';

const rounds = Number(process.argv[2] ?? 200);
const seed = process.argv[3] ?? String(Date.now());
const result = await killLoop({ rounds, seed });
process.stdout.write(`${JSON.stringify({ seed, ...result })}\n`);
process.exitCode = result.problems.length > 0 || result.acknowledged === 0 ? 1 : 0;
