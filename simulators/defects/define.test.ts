import { describe, expect, test } from 'vitest';
import { referenceBehaviour as deviceReference } from '../device/index.ts';
import { referenceBehaviour as platformReference } from '../platform/reference.ts';
import { refuseDuplicates } from './catalogue.ts';
import * as device from './define-device.ts';
import * as platform from './define-platform.ts';

describe('a change of the device', () => {
  test('replaces one decision, and keeps all others', () => {
    const { behaviour } = device.variant('v', 'V.', { http: { jsonType: 'text/plain' } });
    const { http, ...others } = behaviour(deviceReference);
    const { http: reference, ...expected } = deviceReference;
    expect(http).toEqual({ ...reference, jsonType: 'text/plain' });
    expect(others).toEqual(expected);
  });

  test('is given the decisions of the reference', () => {
    const { behaviour } = device.variant('v', 'V.', {
      stream: ({ heartbeat }) => ({ heartbeat: (now) => heartbeat(now).toUpperCase() }),
    });
    expect(behaviour(deviceReference).stream.heartbeat({ latest: 1, idleMs: 0 })).toBe(': HEARTBEAT\n\n');
  });

  test('is made for each device separately', () => {
    let made = 0;
    const { behaviour } = device.variant('v', 'V.', () => ({ log: { idStep: ++made } }));
    expect([1, 2].map(() => behaviour(deviceReference).log.idStep)).toEqual([1, 2]);
  });

  test('may refuse otherwise, where the refusal matches', () => {
    const { behaviour } = device.defect(
      'd',
      'D.',
      ['device.x'],
      device.refusals(({ code }) => code === 'a', { status: 500 }),
    );
    const { refusal } = behaviour(deviceReference).http;
    const answered = ['a', 'b'].map((code) => refusal({ status: 400, code, message: 'm' }, {} as never).status);
    expect(answered).toEqual([500, 400]);
  });

  test('may send another envelope under the same id', () => {
    const event = { id: 3, type: 'a.b', json: '{"object":"event","id":3}' };
    expect(device.rewritten(event, (envelope) => ({ ...envelope, id: 4 }))).toEqual({
      ...event,
      json: '{"object":"event","id":4}',
    });
  });
});

describe('a change of the platform', () => {
  const behaviourOf = (change: platform.PlatformChange) =>
    platform.variant('v', 'V.', change).behaviour(platformReference);

  test('replaces one decision, and keeps all others', () => {
    expect(behaviourOf({ createdStatus: 201 })).toEqual({ ...platformReference, createdStatus: 201 });
  });

  test('may show resources of one kind otherwise', () => {
    const { resource } = behaviourOf(platform.resources('device', (each) => ({ ...each, name: 'n' })));
    expect(resource?.('device', { id: 'd' }, '2026-08-17.everglades')).toEqual({ id: 'd', name: 'n' });
    expect(resource?.('group', { id: 'g' }, '2026-08-17.everglades')).toEqual({ id: 'g' });
  });

  test('may answer one operation otherwise', () => {
    const { answer } = behaviourOf(platform.answers('getGroup', (body, status) => ({ ...body, status })));
    expect(answer?.('getGroup', { status: 404, body: {} })).toEqual({ status: 404, body: { status: 404 } });
    expect(answer?.('getDevice', { status: 200, body: {} })).toEqual({ status: 200, body: {} });
  });

  test('may answer an error otherwise, where it matches', () => {
    const { error } = behaviourOf(platform.errors(({ status }) => status === 409, { status: 400 }));
    const answered = [409, 404].map((status) => error({ status, code: 'c', params: {}, message: 'm' }).status);
    expect(answered).toEqual([400, 404]);
  });

  test('may take any body for one operation', () => {
    const { bodyProblems } = behaviourOf(platform.unchecked('updateDevice'));
    const problems = [{ path: '/a', message: 'm' }];
    expect(bodyProblems('updateDevice', {}, () => problems)).toEqual([]);
    expect(bodyProblems('updateGroup', {}, () => problems)).toEqual(problems);
  });
});

test('a name that is used twice is refused with both files', () => {
  const twice = ['one.ts', 'other.ts'].map((file) => ({ name: 'n', file }));
  expect(() => refuseDuplicates(twice)).toThrow('n is declared twice: in one.ts and in other.ts');
});
