import Type from 'typebox';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  clientTargetOptions,
  deviceTarget,
  deviceTargetOptions,
  optionsFor,
  ownPlatform,
  platformTargetOptions,
  refuseOwnPlatform,
  systemTargetOptions,
} from '../cli/check-options.ts';
import type { OptionSpec } from '../cli/options.ts';
import { Redactor } from '../common/redact.ts';
import { controlFields, type Fields, filedFields, mergedFields } from './fields.ts';

const rows = {
  bridgeHost: { help: 'Host', description: 'Its host', variable: 'MUSTER_BRIDGE' },
  hops: { option: 'bridge-hops', file: 'hop_count', type: Type.Integer({ minimum: 1, maximum: 9 }), help: 'Hops' },
  loud: { type: Type.Boolean(), help: 'Loud', defaultText: 'quiet' },
  ways: { type: Type.Array(Type.String()), help: 'Ways', conflicts: 'loud' },
  kind: { type: Type.Enum(['a', 'b']), given: Type.String(), help: 'Kind' },
  side: { type: Type.Enum(['l', 'r']), help: 'Side' },
  inFile: { option: false, description: 'Only there' },
  typed: { file: false, help: 'Only typed' },
} as const satisfies Fields;

test('a row defines an option with its name, type, range, choices and secret', () => {
  const group = 'Target';
  expect(optionsFor(rows)).toEqual({
    'bridge-host': { type: 'string', describe: 'Host', group, secret: 'MUSTER_BRIDGE' },
    'bridge-hops': { type: 'number', describe: 'Hops', group, range: { whole: true, from: 1, to: 9 } },
    loud: { type: 'boolean', describe: 'Loud', group, defaultText: 'quiet' },
    ways: { type: 'string', array: true, describe: 'Ways', group, conflicts: 'loud' },
    kind: { type: 'string', describe: 'Kind', group },
    side: { type: 'string', choices: ['l', 'r'], describe: 'Side', group },
    typed: { type: 'string', describe: 'Only typed', group },
  });
});

test.each([
  ['an option wins over the file', { hops: 2 }, { hop_count: 3 }, {}, { hops: 2 }],
  ['the file over the environment', {}, { bridge_host: 'f' }, { MUSTER_BRIDGE: 'e' }, { bridgeHost: 'f' }],
  ['the environment over nothing', {}, {}, { MUSTER_BRIDGE: 'e', HOPS: '4' }, { bridgeHost: 'e' }],
  ['an empty option means none', { bridgeHost: '' }, { bridge_host: 'f' }, { MUSTER_BRIDGE: 'e' }, {}],
  ['an empty variable is none', {}, {}, { MUSTER_BRIDGE: '' }, {}],
  ['a flag is set by either', { loud: false }, { loud: true }, {}, { loud: true }],
  ['a flag that is not set says nothing', { loud: false }, { loud: false }, {}, {}],
  ['what only a file says is no option', { inFile: 'o' }, { in_file: 'f' }, {}, { inFile: 'f' }],
  ['what no file says', { typed: 'o' }, { typed: 'f' }, {}, { typed: 'o' }],
  ['a name of the other place is unknown', { 'bridge-hops': 1 }, { hops: 3, typed: 'f' }, {}, {}],
  ['what every object has is no value', Object.create({ hops: 1 }), Object.create({ hop_count: 1 }), {}, {}],
])('%s', (_, options, file, env, merged) => {
  expect(mergedFields(rows, options, file, env)).toEqual(merged);
});

test('help and descriptions are not empty', () => {
  const tables = { ...clientTargetOptions, ...systemTargetOptions, ...platformTargetOptions };
  for (const { describe } of Object.values<OptionSpec>(tables)) expect(describe).toMatch(/^\S.+\S$/);
  for (const { field } of filedFields) expect(field.description ?? 'none').toMatch(/^\S.+\S$/);
});

test('the table marks the fields of a target file that are paths or secrets', () => {
  const namesOf = (which: 'isPath' | 'variable') =>
    filedFields.flatMap(({ path, field }) => (field[which] === undefined ? [] : [path.join('.')]));
  expect(namesOf('variable')).toEqual(['device.token', 'platform.api_key', 'platform.limited_key']);
  expect(namesOf('isPath')).toEqual([
    ...['artifact', 'device.socket', 'device.discovery', 'device.cwd', 'device.ca'],
    ...['control.http', 'control.event_log', 'control.config_root', 'platform.cwd', 'platform.ca'],
  ]);
  const { isPath } = controlFields.control;
  expect(['c.sock', 'http.sock', '8080x', '/c.sock', '8080', 'http://x', 'HTTPS://x'].filter(isPath)).toEqual([
    ...['c.sock', 'http.sock', '8080x'],
  ]);
});

const opening = { redactor: new Redactor(), signal: AbortSignal.abort(), patienceMs: 1, notify: () => {} };
const args = { 'platform-tls': false };

test('arguments become options, and the environment does not, because a target file precedes it', () => {
  vi.stubEnv('MUSTER_TOKEN', 'from-env');
  onTestFinished(() => void vi.unstubAllEnvs());
  const target = deviceTarget({ ...args, url: 'http://x', 'target-version': '1', capability: ['drive'] }, opening);
  expect(target).toEqual({ url: 'http://x', version: '1', capability: ['drive'], ...opening });
  expect(deviceTarget({ ...args, token: 'typed' }, opening).token).toBe('typed');
});

test.each<[object, object | undefined, object]>([
  [{}, undefined, {}],
  [
    { 'platform-port': 1, 'mqtt-port': 2, dialect: 'miru', 'platform-tls': true },
    undefined,
    { port: 1, mqttPort: 2, dialect: 'miru', tls: true },
  ],
  [
    { 'mqtt-port': 2 },
    { mqtt_port: 3, port: 4, tls: true, sync_path: '/s' },
    { port: 4, mqttPort: 2, tls: true, syncPath: '/s' },
  ],
])('the options of the built-in platform follow %j and the file %j', (given, platform, own) => {
  expect(ownPlatform({ ...args, ...given }, { control: { platform: { ...platform } } })).toEqual(own);
});

test('an option of the built-in platform is refused beside another platform, except the dialect', () => {
  const refused = (given: object) => () => refuseOwnPlatform({ ...args, ...given }, 'leave out', ['dialect']);
  expect(refused({ dialect: 'spec' })).not.toThrow();
  for (const name of ['platform-port', 'mqtt-port', 'platform-tls'])
    expect(refused({ [name]: true })).toThrow(`--${name}: is about Muster's own platform; leave out`);
  expect(() => refuseOwnPlatform({ ...args, dialect: 'spec' }, 'x')).toThrow('--dialect');
  expect(Object.keys(deviceTargetOptions).slice(-4)).toEqual(['dialect', 'platform-port', 'mqtt-port', 'platform-tls']);
});
