import type { RequestListener, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { Recorder } from '../../../../harness/client/recorder.ts';
import { defined } from '../../../../harness/common/defined.ts';
import { Redactor } from '../../../../harness/common/redact.ts';
import type { ControlInfo } from '../../../../harness/contract/control.ts';
import { requirement } from '../../../../harness/runner/define.ts';
import { runCheck } from '../../../../harness/runner/run-check.ts';
import { Session } from '../../../../harness/runner/session.ts';
import type { Check, CheckResult } from '../../../../harness/runner/types.ts';
import { noControl } from '../../../../harness/targets/control/control.ts';
import { type Layer, layered } from '../../../../harness/targets/control/layers.ts';
import { openDeviceTarget } from '../../../../harness/targets/open-device.ts';
import type { DeviceContext, OpenDeviceTarget } from '../../../../harness/targets/opened.ts';
import { serve } from '../../../../harness/targets/testing/places.ts';
import { type DeviceChanges, variant } from '../../../../simulators/defects/define-device.ts';
import { type DeviceBehaviour, referenceBehaviour } from '../../../../simulators/device/behaviour.ts';
import type { SimulatedDevice } from '../../../../simulators/device/index.ts';
import { deviceSuite } from '../../index.ts';
import type { Device } from '../check.ts';
import { check } from '../section.ts';
import type { Streams } from '../streams.ts';

export const frame = (id: number): string =>
  `id: ${id}\nevent: a.b\ndata: ` +
  `${JSON.stringify({ object: 'event', id, type: 'a.b', occurred_at: '2026-01-02T03:04:05Z', data: {} })}\n\n`;

type Publish = (count: number) => Promise<{ first_id: number; last_id: number }>;

export function growingLog() {
  const log = { newest: 0 };
  const publish: Publish = async (count) => {
    log.newest += count;
    return { first_id: log.newest - count + 1, last_id: log.newest };
  };
  return Object.assign(log, { publish });
}

export const STREAM = { 'content-type': 'text/event-stream' };

export const cursorIn = (url = '', otherwise = 0): number =>
  Number(new URL(url, 'http://device').searchParams.get('after') ?? otherwise);

/** Sends the events after the cursor of `url` up to `newest`, and leaves the stream open. */
export function replay(response: ServerResponse, url: string | undefined, newest: number): void {
  response.writeHead(200, STREAM).flushHeaders();
  for (let id = cursorIn(url) + 1; id <= newest; id += 1) response.write(frame(id));
}

/** Target of `device` whose control answers with `info`, and to calls as `call` does. */
export function targetOf(device: SimulatedDevice, info: ControlInfo, call: NonNullable<Layer['call']>) {
  const control = layered(noControl, { info: async () => info, call });
  const at = { socket: device.socketPath ?? '', attach: async () => control };
  return openDeviceTarget({ ...at, redactor: new Redactor(), env: {} });
}

type Serving = Partial<{ publish: Publish; retention: number; path: string }>;

/** Target that passes only requests for `path` to `answer`, because opening a target sends other requests too. */
export async function openTarget({ publish, retention, path = '/events' }: Serving, answer: RequestListener) {
  const url = await serve((request, response) => {
    if (request.method === 'GET' && request.url?.includes(path) === true) answer(request, response);
    else response.writeHead(404).end();
  });
  const control = layered(noControl, {
    info: async () => ({ capabilities: ['drive'], ...defined({ retention }) }),
    call: (call) => (call.name === 'publish' ? publish?.(call.count) : undefined),
  });
  const attach = (publish ?? retention) && (async () => control);
  const target = await openDeviceTarget({ url, redactor: new Redactor(), env: {}, ...(attach && { attach }) });
  onTestFinished(() => target.close());
  return target;
}

const any = requirement({ id: 'device.any', level: 'MUST', section: '6', since: '2026-11-21', text: 'Anything.' });

export const behaviourWith = (change: DeviceChanges): DeviceBehaviour =>
  variant('changed', 'Differs as its test says.', change).behaviour(referenceBehaviour);

export function runOn(
  target: OpenDeviceTarget,
  body: (t: Device, streams: Streams) => Promise<unknown>,
  session = new Session(),
): Promise<CheckResult> {
  return runOne(
    target,
    check(any, {}, async (t: Device, streams) => void (await body(t, streams))),
    session,
  );
}

export function runNamed(target: OpenDeviceTarget, id: string): Promise<CheckResult> {
  const found = deviceSuite.checks.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no check of the device suite is called ${id}`);
  return runOne(target, found, new Session());
}

function runOne(target: OpenDeviceTarget, one: Check<DeviceContext>, session: Session): Promise<CheckResult> {
  const { signal } = new AbortController();
  const recorder = new Recorder(new Redactor());
  const context = (over: AbortSignal) => target.context(recorder, over);
  return runCheck({ check: one, context, recorder, session, seed: 1, runs: 1, signal, limitMs: 60_000 });
}
