import { pino } from 'pino';
import { expect, it } from 'vitest';
import { UsageError } from '../common/usage.ts';
import { platformOptions, type SimulatePlatformArguments } from './commands/simulate-platform.ts';

const log = pino({ level: 'silent' });
const read = (args: Partial<SimulatePlatformArguments>) =>
  platformOptions({ port: 0, host: '127.0.0.1', dialect: 'spec', ui: false, 'log-level': 'silent', ...args }, log);

it('options of simulate platform become those of the simulator, and choose defects and variants by name', async () => {
  const keys = ['admin', 'viewer=devices:read,releases:read', 'a=b=devices:manage', 'c=b', 'aGVsbG8=='];
  const same = { devices: 5, seed: 's', db: 'x.db' };
  expect(await read({ ...same, 'api-key': keys, 'mqtt-port': 1884, fault: ['429', 'reset@0.1'] })).toMatchObject({
    ...{ ...same, port: 0, mqtt: { port: 1884 } },
    keys: [
      { key: 'admin', scopes: 'all' },
      { key: 'viewer', scopes: ['devices:read', 'releases:read'] },
      { key: 'a=b', scopes: ['devices:manage'] },
      { key: 'c=b', scopes: 'all' },
      { key: 'aGVsbG8==', scopes: 'all' },
    ],
    faults: { throttle: { rate: 1 }, reset: { rate: 0.1 } },
  });
  expect(await read({ mqtt: 'none' })).toMatchObject({ mqtt: false });
  expect(await read({ mqtt: 'mqtts://broker:8883' })).toMatchObject({ mqtt: { url: 'mqtts://broker:8883' } });
  expect(await read({})).toEqual({ port: 0, host: '127.0.0.1', dialect: 'spec', log });
  expect(await read({ host: '0.0.0.0', defect: ['default-limit-20'] })).toMatchObject({ host: '0.0.0.0' });
  const { behaviour } = await read({ defect: ['default-limit-20'], variant: ['created-201'] });
  expect(behaviour?.clampLimit([])).toBe(20);
  expect(behaviour?.createdStatus).toBe(201);
});

it.for([
  [{ 'api-key': ['k=devices:fly'] }, '--api-key: unknown scope "devices:fly"; accepted are '],
  [{ 'api-key': ['k', 'k=devices:read'] }, '--api-key: an API key is given twice'],
  [{ mqtt: 'none', 'mqtt-port': 1883 }, '--mqtt and --mqtt-port: '],
  [{ 'control-token': 'file' }, '--control-token: needs --control PORT'],
  [{ control: 0, 'control-token': '/' }, '--control-token: '],
  [{ 'api-key': ['=devices:read'] }, '--api-key: accepted are KEY and KEY=scope,scope…'],
  [{ mqtt: 'http://localhost' }, '--mqtt: accepted are mqtt://HOST'],
  [{ 'tls-cert': 'a.pem' }, '--tls-cert and --tls-key: give both, or neither'],
  [{ 'tls-cert': 'nowhere.pem', 'tls-key': 'nowhere.pem' }, '--tls-cert: ENOENT'],
  [{ host: 'http://a' }, "--host: 'http://a' is not accepted; accepted: an address or a name of this machine"],
  [{ host: '0.0.0.0', defect: ['key-unchecked'] }, '--host: 0.0.0.0 needs keys, and --defect makes'],
  [{ defect: ['none-such'] }, '--defect none-such: unknown name'],
  [{ fault: ['explode'] }, '--fault: "explode" is no fault; accepted are latency='],
] as const)('an option of simulate platform is refused: %j', async ([args, message]) => {
  const refusal = read(args as Partial<SimulatePlatformArguments>);
  await expect(refusal).rejects.toThrow(UsageError);
  await expect(refusal).rejects.toThrow(message);
});
