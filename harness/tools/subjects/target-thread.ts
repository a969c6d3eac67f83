/** Entry of a thread that serves a correct target, which heavy subjects would slow down in the main thread. */
import { parentPort, workerData } from 'node:worker_threads';
import { optionsFor, startRobot, startWorkspace } from './simulators.ts';

const serving = new AsyncDisposableStack();
const place =
  workerData === 'device' ? serving.use(await startRobot()).place : await serving.use(await startWorkspace()).place();
parentPort?.once('message', () => serving.disposeAsync());
parentPort?.postMessage(optionsFor(place));
