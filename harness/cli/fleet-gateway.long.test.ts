import { createServer, request } from 'node:http';
import { expect, it } from 'vitest';
import { simulatePlatform } from '../../simulators/platform/index.ts';
import { served } from '../common/testing/servers.ts';
import { scenarioFrom } from './fleet-options.ts';
import { unlessSaturated, useFleetRuns } from './testing/muster.ts';

const fleets = useFleetRuns();
const TENANT = 'tenant-7f3a9c1e5b';

async function gateway(upstream: string, breaksOn = /^$/) {
  const counts = { passed: 0, refused: 0 };
  const server = createServer((incoming, outgoing) => {
    if (incoming.headers['x-tenant'] !== TENANT) {
      counts.refused += 1;
      outgoing.writeHead(403).end('no tenant, or the wrong one');
      return;
    }
    counts.passed += 1;
    const { url = '', method, headers } = incoming;
    if (breaksOn.test(url)) {
      outgoing.writeHead(500).end(`out of order for ${TENANT}`);
      return;
    }
    const onward = request(new URL(url, upstream), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward.on('error', () => outgoing.destroy()));
  });
  return { counts, url: (await served(server)).url + new URL(upstream).pathname };
}

it.each(['agent', 'polling', 'calls'])('robots of the uplink %s pass a gateway with --header', async (uplink) => {
  await using platform = await simulatePlatform({ devices: 8, minKeyBits: 1024 });
  const front = await gateway(platform.url);
  const words = fleets.words('  - { do: hold, for: 1s, reads: 1/s, lists: 1/s }\n', {
    ...{ platform: front.url, 'api-key': platform.apiKey, uplink, header: `X-Tenant: ${TENANT}` },
    ...{ rate: '20', threshold: 'http.errors.count==0', ...(uplink === 'agent' && { mqtt: platform.mqttUrl }) },
  });
  const { code, stdout, stderr } = await fleets.run(words);
  const result = fleets.result();
  expect(code, stdout + stderr).toBe(unlessSaturated(0, result));
  const { 'http.ms': all, 'list.ms': lists, 'read.ms': reads } = result.metrics;
  expect(all?.count).toBe((lists?.count ?? 0) + (reads?.count ?? 0));
  expect(stdout).toMatch(/^ {2}requests +\d+ in .+: [\d.]+ a second$/m);
  expect(front.counts.refused).toBe(0);
  expect(front.counts.passed).toBeGreaterThanOrEqual(20);
  expect(stdout + stderr + JSON.stringify(result)).not.toContain(TENANT);
});

it('the output masks the value of --header in errors that repeat it', async () => {
  await using platform = await simulatePlatform({ devices: 8 });
  const front = await gateway(platform.url, /\/devices\/[^/?]+$/);
  const words = fleets.words('  - { do: hold, for: 1s, reads: 20/s }\n', {
    ...{ platform: front.url, 'api-key': platform.apiKey, uplink: 'calls', header: `X-Tenant: ${TENANT}` },
  });
  const { stdout, stderr } = await fleets.run([...words, '--force']);
  const shown = stdout + stderr + JSON.stringify(fleets.result());
  expect(shown).toContain('out of order for');
  expect(shown).not.toContain(TENANT);
});

it('--rate splits its requests in the proportions of the scenario', () => {
  const traffic = scenarioFrom({ scenario: 'calls', rate: 184 }).phases.at(-1);
  expect(traffic).toMatchObject({ lists: '20.0000/s', reads: '80.0000/s', expands: '4.0000/s', ping: '80.0000/s' });
});

it.each(['rollout', 'steady'])('--uplink polling gives %s one poll interval more, and expects no ping', (scenario) => {
  expect(scenarioFrom({ scenario, uplink: 'agent' }).thresholds).toContain('rollout.ms.p99<5s');
  const { thresholds } = scenarioFrom({ scenario, uplink: 'polling' });
  expect(thresholds).toEqual(expect.arrayContaining(['rollout.ms.p99<15s', 'rollout.missed.count==0']));
  for (const bound of ['rollout.ms.p99<5s', 'ping.ms.p99<1s']) expect(thresholds).not.toContain(bound);
});
