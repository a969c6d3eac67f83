/** Simulated client with the defects that its arguments name. For tests of `muster check client`. */
import process from 'node:process';
import { referenceBehaviour } from '../../../simulators/client/reference.ts';
import { runClient } from '../../../simulators/client/run.ts';
import { clientDefects } from '../../../simulators/defects/client/index.ts';

const behaviour = process.argv.slice(2).reduce((client, wanted) => {
  const planted = clientDefects.find(({ name }) => name === wanted);
  if (planted === undefined) throw new Error(`there is no defect ${wanted}`);
  return planted.behaviour(client);
}, referenceBehaviour);

process.exitCode = await runClient({
  variables: process.env,
  behaviour,
  signal: new AbortController().signal,
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
});
