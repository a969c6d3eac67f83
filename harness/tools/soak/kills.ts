/** `npm run soak -- kills`: a device process is killed under load, again and again; nothing that it acknowledged may be lost. */
import process from 'node:process';
import { killLoop } from '../../../simulators/device/testing/kill-loop.ts';
import { countOf, toolOptions } from '../options.ts';

const HELP = `npm run soak -- kills [options]
  --rounds N    kills (200)
  --seed S      draws when each one comes (drawn, and printed)
`;

/** Resolves with whether nothing was lost. */
export async function runKills(words: readonly string[]): Promise<boolean> {
  const values = toolOptions(HELP, { rounds: { type: 'string', default: '200' }, seed: { type: 'string' } }, words);
  const seed = values.seed ?? String(Date.now());
  const { kills, seen, acknowledged, latest, problems } = await killLoop({
    rounds: countOf('rounds', values.rounds, HELP),
    seed,
  });
  for (const problem of problems) process.stdout.write(`✗ ${problem}\n`);
  process.stdout.write(
    `device: ${kills} kills, seed ${seed}: ${latest} events, ${acknowledged} acknowledged, the last ${seen} seen by clients compared: ${problems.length} problems\n`,
  );
  return problems.length === 0 && acknowledged > 0;
}
