/**
 * Life of one platform in a process of its own: requests in sequence on a database file, while its system calls are
 * recorded. Its notes go to a file, which puts them in order with those calls.
 */
import { openSync, writeSync } from 'node:fs';
import process from 'node:process';
import { type Random, random } from '../../../simulators/common/random.ts';
import { Store } from '../../../simulators/platform/store/store.ts';
import {
  createKit,
  deploymentBody,
  type Kit,
  startPlatform,
  type TestPlatform,
} from '../../../simulators/platform/testing/kit.ts';
import { digestOf, type Note } from './crash-platform.ts';

/**
 * Pages of the write-ahead log after which SQLite moves them to the database: 1000 by default, too many for a short
 * life.
 */
const CHECKPOINT_PAGES = 20;
const STARTS = 3;

const [seed = '', db = '', notes = '', wrong = ''] = process.argv.slice(2);
const fd = openSync(notes, 'a');
const note = (what: Note): void => void writeSync(fd, `${JSON.stringify(what)}\n`);

/** Notes the state that each transaction is about to commit, and whether it did. */
let current: Store | undefined;
const { write } = Store.prototype;
let inside = false;
Store.prototype.write = function watched<T>(this: Store, change: () => T): T {
  if (inside) return write.call(this, change) as T;
  if (current !== this) this.database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}; ${wrong}`);
  current = this;
  inside = true;
  try {
    const result = write.call(this, () => {
      const changed = change();
      note({ intends: digestOf(this.database) });
      return changed;
    }) as T;
    note({ committed: true });
    return result;
  } finally {
    inside = false;
  }
};

/** Sends a request, and notes the answer with the resulting state; returns the item of a success. */
async function requestAndNote(platform: TestPlatform, method: string, path: string, body?: object) {
  note({ sends: `${method} ${path}` });
  const reply = path.startsWith('/')
    ? await platform.call(method, path, body)
    : await fetch(path, {
        method,
        headers: { authorization: `Bearer ${platform.controlToken}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
  if (current) note({ answered: reply.status, state: digestOf(current.database) });
  return 'body' in reply && 'text' in reply && typeof reply.text === 'string' && reply.status === 200
    ? (reply.body as { id?: string })
    : undefined;
}

interface World {
  kit: Kit | undefined;
  devices: string[];
  deployments: string[];
  snapshots: number;
}

async function sendRandomRequest(platform: TestPlatform, source: Random, world: World): Promise<void> {
  const { kit, devices, deployments } = world;
  const choice = source.integer(0, 9);
  if (choice < 2 || devices.length === 0) {
    const made = await requestAndNote(platform, 'POST', '/devices', { name: source.text(12) });
    if (made?.id !== undefined) devices.push(made.id);
  } else if (choice === 2) {
    await requestAndNote(platform, 'PATCH', `/devices/${source.pick(devices)}`, {
      name: source.text(source.integer(5, 60)),
    });
  } else if (choice < 5) {
    if (kit === undefined) return;
    const data = JSON.stringify({ speed: source.integer(0, 9), note: source.text(source.integer(1, 20_000)) });
    await requestAndNote(platform, 'POST', '/config_instances', {
      config_schema_id: kit.schema,
      content: { format: 'json', data },
    });
  } else if (choice < 8) {
    if (kit === undefined) return;
    const target = source.chance(0.7) ? 'deployed' : 'staged';
    const body = deploymentBody(kit, source.pick(devices), target);
    const made = await requestAndNote(platform, 'POST', '/deployments', body);
    if (made?.id !== undefined) deployments.push(made.id);
  } else if (choice === 8) {
    if (deployments.length > 0)
      await requestAndNote(
        platform,
        'POST',
        `/deployments/${source.pick(deployments)}/${source.pick(['archive', 'deploy'])}`,
      );
  } else await states(platform, source, world);
}

/** Takes snapshots, which copy the whole database, and restores them. */
async function states(platform: TestPlatform, source: Random, world: World): Promise<void> {
  const at = `${platform.controlUrl}/snapshots`;
  if (world.snapshots === 0 || source.chance(0.5)) {
    world.snapshots += 1;
    await requestAndNote(platform, 'POST', at, { name: String(world.snapshots) });
  } else await requestAndNote(platform, 'POST', `${at}/${source.integer(1, world.snapshots)}/restore`);
}

const source = random(seed);
const world: World = { kit: undefined, devices: [], deployments: [], snapshots: 0 };
for (let life = source.integer(1, 3); life > 0; life -= 1) {
  let platform: TestPlatform | undefined;
  for (let attempt = 1; platform === undefined; attempt += 1) {
    // A disk that fails may keep it from starting.
    platform = await startPlatform({ db, seed, control: { port: 0 } }).catch((error: unknown) => {
      note({ unopened: String(error) });
      return undefined;
    });
    if (platform === undefined && attempt === STARTS) process.exit();
  }
  world.snapshots = 0;
  world.kit ??= await createKit(platform).catch(() => undefined);
  for (let turn = source.integer(5, 40); turn > 0; turn -= 1) await sendRandomRequest(platform, source, world);
  if (life === 1 && source.chance(0.5)) process.kill(process.pid, 'SIGKILL');
  await platform.stop().catch(() => {});
}
process.exit();
