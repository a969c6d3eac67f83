/** Reference client as a command: `muster check client --command 'node simulators/client/main.ts'`. */
import { enableCompileCache } from 'node:module';
import process from 'node:process';

// Caches compiled code, because a run of the client suite starts the client about a hundred times.
enableCompileCache();
const [{ referenceBehaviour }, { runClient }] = await Promise.all([import('./reference.ts'), import('./run.ts')]);

process.exitCode = await runClient({
  variables: process.env,
  behaviour: referenceBehaviour,
  signal: new AbortController().signal,
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
});
