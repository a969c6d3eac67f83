/** A transport that Muster does not have, to show that nothing but its own objects has to know a transport. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { simulateDevice } from '../../../simulators/device/index.ts';
import { type Endpoint, listening, type Serving } from '../../../simulators/device/transport.ts';
import { deviceSuite } from '../../../suites/device/index.ts';
import { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import { Redactor } from '../../common/redact.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { makePlan } from '../../runner/plan.ts';
import { runSuite } from '../../runner/run.ts';
import { targetFileOf } from '../fields.ts';
import { openDeviceTarget } from '../open-device.ts';
import { temporaryFolder } from '../testing/places.ts';
import { TRANSPORTS } from './index.ts';
import { accepts, type Connection, type Transport } from './transport.ts';

/** TCP on loopback without a token; a file holds the port, which is another one after each start. */
const portFile = {
  name: 'port-file',
  fields: { 'port-file': { help: 'File with the port', description: 'Path of the file with the port', isPath: true } },
  addressField: 'port-file',
  usage: '--port-file FILE',
  placeholder: 'port',
  accepts: async (file) => existsSync(file) && accepts({ host: '127.0.0.1', port: portIn(file) }),
  served: (file) => `the port in ${file}`,
  open: ({ address }) => new PortConnection(address, portIn(address)),
} as const satisfies Transport;

const portIn = (file: string): number => Number(readFileSync(file, 'utf8'));

class PortConnection implements Connection {
  readonly kind = 'port-file';
  readonly hint = 'Try: nc';
  readonly capabilities = [];
  readonly bufferBytes = 4_500_000;
  readonly #file: string;
  readonly #port: number;

  constructor(file: string, port: number) {
    this.#file = file;
    this.#port = port;
  }

  get address(): string {
    return `tcp:${this.#port}`;
  }

  client(recorder: Recorder): HttpClient {
    return new HttpClient({
      endpoint: { origin: `http://127.0.0.1:${this.#port}` },
      basePath: DEVICE_API_PREFIX,
      recorder,
    });
  }

  relocate(): Promise<PortConnection> {
    const port = portIn(this.#file);
    return Promise.resolve(port === this.#port ? this : new PortConnection(this.#file, port));
  }
}

/** The simulator's side of it. */
const endpoint = (file: string): Endpoint => ({
  option: 'port-file',
  address: { 'port-file': file },
  listen: async ({ onConnection }: Serving) => {
    const server = createServer((socket) => onConnection(socket, { transport: 'port-file' }));
    await listening(server, { port: 0, host: '127.0.0.1' });
    const bound = server.address();
    writeFileSync(file, String(typeof bound === 'object' ? bound?.port : 0));
    return { close: () => void server.close(), abandon: () => void server.close() };
  },
});

const transports = [...TRANSPORTS, portFile];
const folder = temporaryFolder();

const base = () => ({ redactor: new Redactor(), env: {}, transports });

describe('a transport of one’s own', () => {
  it('carries the checks of the device suite, also over a restart to another port', async () => {
    const file = join(folder, 'port');
    const control = join(folder, 'c.sock');
    await using device = await simulateDevice({
      dir: join(folder, 'robot'),
      endpoints: [endpoint(file)],
      control: { path: control },
    });
    const first = portIn(file);
    const named = { ...base(), control, 'port-file': device.address['port-file'] };
    await using target = await openDeviceTarget(named);
    expect(target.unreachable).toBeUndefined();
    expect(target.description).toMatchObject({ kind: 'port-file', address: `tcp:${first}` });
    const ids = ['device.deployment.current', 'device.deployment.restart', 'device.events.replay.exclusive'];
    // A pattern, and so that check alone.
    const only = ids.map((id) => id.replace('device', '*'));
    const report = await runSuite(deviceSuite, {
      plan: makePlan(deviceSuite, { only, capabilities: target.capabilities }),
      target: target.description,
      context: target.context,
      redactor: target.redactor,
      seed: 1,
      version: 'test',
    });
    const outcomes = report.checks.map(({ id, outcome }) => `${outcome} ${id}`);
    expect(outcomes.filter((line) => !line.startsWith('pass'))).toEqual([]);
    expect(outcomes).toEqual(expect.arrayContaining(ids.map((id) => `pass ${id}`)));
    expect(portIn(file)).not.toBe(first);
  });

  it('is named by a field of a target file, relative to that file', async () => {
    await using device = await simulateDevice({
      dir: join(folder, 'other'),
      endpoints: [endpoint(join(folder, 'port'))],
    });
    expect(device.running).toBe(true);
    writeFileSync(join(folder, 'target.yaml'), 'device: {port-file: ./port}\n');
    await using target = await openDeviceTarget({ ...base(), target: join(folder, 'target.yaml') });
    expect(target.unreachable).toBeUndefined();
    expect(JSON.stringify(targetFileOf(transports).schema)).toContain('Path of the file with the port');
  });

  it.each([
    ['a placeholder of a command', `{port-file}`, ''],
    ['a ready line', '$PWD/own-port', `echo '{"ready":true,"port-file":"'$PWD'/own-port"}';`],
  ])('is named by %s', async (_, path, announce) => {
    const script = join(folder, 'agent.mjs');
    writeFileSync(
      script,
      `import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
const server = createServer((request, response) => response.end(JSON.stringify(request.url)));
server.listen(0, '127.0.0.1', () => {
  writeFileSync(process.argv[2], String(server.address().port));
  console.log('up');
});
`,
    );
    const command = `cd ${folder}; node ${script} ${path} | while read up; do ${announce} cat; done`;
    await using target = await openDeviceTarget({ ...base(), env: process.env, command });
    expect(target.unreachable).toBeUndefined();
    expect(target.transport.kind).toBe('port-file');
    expect((await target.http.get('/events')).json).toBe(`${DEVICE_API_PREFIX}/events`);
  });

  it('is offered where a target is missing, and refused beside another address', async () => {
    await expect(openDeviceTarget(base())).rejects.toThrow(/--url URL, --port-file FILE, --image/);
    const two = { ...base(), socket: 'a.sock', 'port-file': 'port' };
    await expect(openDeviceTarget(two)).rejects.toThrow('--socket and --port-file: give one of them');
  });
});
