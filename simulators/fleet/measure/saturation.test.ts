import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { ApiError } from '../../common/platform-http.ts';
import { useFolder } from '../../common/testing/scratch.ts';
import { isExhausted, MemoryKills, memoryLimit } from './saturation.ts';

const MIB = 2 ** 20;
const folder = useFolder();

function write(files: Record<string, string | number>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(folder(name)), { recursive: true });
    writeFileSync(folder(name), `${text}\n`);
  }
}

const V1 = '5:memory:/kubepods/pod1/shard\n1:name=systemd:/';
const V2 = '0::/kubepods/pod1/shard';

const coded = (code: string) => Object.assign(new Error(code), { code });

test.each([
  ['a full disk as the cause', new Error('a deployment', { cause: coded('ENOSPC') }), true],
  ['descriptors that ran out', coded('EMFILE'), true],
  ['a platform that refuses', new Error('GET /devices', { cause: coded('ECONNREFUSED') }), false],
  ['a host of two addresses, one refused', new AggregateError([coded('EADDRNOTAVAIL'), coded('ECONNREFUSED')]), false],
  ['a platform whose disk is full', new ApiError(500, 'ENOSPC', ''), false],
  ['no error', 'ENOSPC', false],
])('this machine is short of something: %s: %s', (_what, error, is) => {
  expect(isExhausted(error)).toBe(is);
});

test('version 2: the limit, free memory and kills of this group are read', () => {
  write({
    'kubepods/pod1/shard/memory.max': 256 * MIB,
    'kubepods/pod1/shard/memory.current': 100 * MIB,
    'kubepods/pod1/shard/memory.stat': `anon ${60 * MIB}\ninactive_file ${40 * MIB}`,
    'kubepods/pod1/shard/memory.events': 'oom 3\noom_kill 2\noom_group_kill 0',
  });
  expect(memoryLimit(folder(), V2)).toEqual({ limitBytes: 256 * MIB, freeBytes: 196 * MIB, kills: 2 });
});

test('version 1: the limit, free memory and kills of this group are read', () => {
  write({
    'memory/kubepods/pod1/shard/memory.limit_in_bytes': 256 * MIB,
    'memory/kubepods/pod1/shard/memory.usage_in_bytes': 100 * MIB,
    'memory/kubepods/pod1/shard/memory.stat': `inactive_file 1\ntotal_inactive_file ${40 * MIB}`,
    'memory/kubepods/pod1/shard/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1',
  });
  expect(memoryLimit(folder(), V1)).toEqual({ limitBytes: 256 * MIB, freeBytes: 196 * MIB, kills: 1 });
});

test('the tightest limit among the parent groups applies', () => {
  write({
    'kubepods/pod1/shard/memory.max': 'max',
    'kubepods/pod1/shard/memory.current': 10 * MIB,
    'kubepods/pod1/memory.max': 512 * MIB,
    'kubepods/pod1/memory.current': 500 * MIB,
    'kubepods/memory.max': 600 * MIB,
    'kubepods/memory.current': 510 * MIB,
  });
  expect(memoryLimit(folder(), V2)).toMatchObject({ limitBytes: 512 * MIB, freeBytes: 12 * MIB });
});

test('the mounted folder of a container is its own group', () => {
  write({ 'memory.max': 64 * MIB, 'memory.current': 65 * MIB });
  expect(memoryLimit(folder(), V2)).toEqual({ limitBytes: 64 * MIB, freeBytes: 0, kills: undefined });
  write({ 'memory/memory.limit_in_bytes': 32 * MIB, 'memory/memory.usage_in_bytes': 32 * MIB });
  expect(memoryLimit(folder(), V1)).toMatchObject({ limitBytes: 32 * MIB });
});

test('an absent or unlimited group has no limit', () => {
  expect(memoryLimit(folder(), '')).toBeUndefined();
  write({ 'memory/memory.limit_in_bytes': '9223372036854771712', 'memory/memory.usage_in_bytes': MIB });
  write({ 'memory.max': 'max', 'memory.current': MIB });
  expect(memoryLimit(folder(), '4:memory:/\n0::/')).toBeUndefined();
});

test('a kill at the limit is a cause only when it is new', () => {
  write({ 'memory.max': 256 * MIB, 'memory.current': 255 * MIB, 'memory.events': 'oom_kill 2' });
  const kills = new MemoryKills(() => memoryLimit(folder(), V2));
  expect(kills.cause).toBe('');
  write({ 'memory.events': 'oom_kill 3' });
  expect(kills.cause).toBe('; likely cause: the memory limit of this container (cgroup), 256 MiB');
  expect(new MemoryKills(() => undefined).cause).toBe('');
});
