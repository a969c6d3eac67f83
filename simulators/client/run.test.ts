import process from 'node:process';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { referenceBehaviour } from './reference.ts';
import { runClient } from './run.ts';

const MONTH_MS = 30 * 86_400_000;

test.each(['follow', 'current'])('%s waits for a month when asked to', async (job) => {
  // Node makes 1 ms of a timer that is too long, and warns.
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  onTestFinished(() => warned.mockRestore());
  const over = new AbortController();
  const asked = vi.fn(() => {
    setImmediate(() => over.abort());
    return MONTH_MS;
  });
  await runClient({
    variables: {
      [CLIENT_VARIABLES.job]: job,
      [CLIENT_VARIABLES.deviceUrl]: 'http://robot/v0.2',
      [CLIENT_VARIABLES.socket]: '/nowhere/agent.sock',
    },
    behaviour: {
      ...referenceBehaviour,
      follow: { ...referenceBehaviour.follow, reconnect: asked },
      calls: { ...referenceBehaviour.calls, retry: asked },
    },
    signal: over.signal,
    print: () => {},
    complain: () => {},
  });
  expect(asked).toHaveBeenCalledTimes(1);
  expect(warned).not.toHaveBeenCalledWith(expect.anything(), 'TimeoutOverflowWarning');
});
