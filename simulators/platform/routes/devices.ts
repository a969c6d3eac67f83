import { PING_TIMEOUT_MAXIMUM_NANOS } from '../../../harness/contract/limits.ts';
import type { PingRequest } from '../../../harness/contract/lists.ts';
import type { CreateDevice, UpdateDevice } from '../../../harness/contract/platform/device.ts';
import { createDevice, updateDevice } from '../domain/devices.ts';
import { find, invalid } from '../domain/find.ts';
import { issueToken } from '../domain/provisioning.ts';
import { type Answered, type Call, created, get, type Handlers, param, shown } from '../http/call.ts';
import { list } from '../http/lists.ts';

export const deviceHandlers: Handlers = {
  listDevices: (call) => list(call, 'device'),
  getDevice: (call) => get(call, 'device'),
  createDevice: (call) => created(call, 'device', (core) => createDevice(core, call.body as CreateDevice)),
  updateDevice: (call) =>
    shown(call, 'device', (core) => updateDevice(core, param(call, 'device_id'), call.body as UpdateDevice)),
  pingDevice: ping,
  createDeviceActivationToken: (call) => {
    const { allow_reactivation = false } = (call.body ?? {}) as { allow_reactivation?: boolean };
    const bound = { deviceId: param(call, 'device_id'), reactivates: allow_reactivation };
    return { json: JSON.stringify(issueToken(call.core, bound)) };
  },
};

/** Specification sections 2.5, 4.2 and 8. */
async function ping(call: Call): Promise<Answered> {
  const { core } = call;
  const { timeout_nanos } = (call.body ?? {}) as PingRequest;
  const timeout = core.behaviour.pingTimeout(timeout_nanos);
  if (timeout === 'refuse') {
    const range = `1 to ${PING_TIMEOUT_MAXIMUM_NANOS}`;
    throw invalid('invalid_request', `timeout_nanos: accepted are ${range}`, {
      field: 'timeout_nanos',
      accepted: range,
    });
  }
  const device = find(core, 'device', param(call, 'device_id'));
  const start = process.hrtime.bigint();
  const outcome = await core.behaviour.ping(core.messenger, device.id, timeout);
  const answer = core.behaviour.pingAnswer(outcome, Number(process.hrtime.bigint() - start));
  return { status: answer.status, json: JSON.stringify(answer.body) };
}
