/** Entry of a thread that serves a correct target, which heavy subjects in the main thread would otherwise slow down. */
import { parentPort, workerData } from 'node:worker_threads';
import { optionsFor, startRobot, startWorkspace } from './simulators.ts';

const serving = new AsyncDisposableStack();
const place =
  workerData === 'device' ? serving.use(await startRobot()).place : await serving.use(await startWorkspace()).place();
parentPort?.once('message', () => serving.disposeAsync());
parentPort?.postMessage(optionsFor(place));
