/** Control API of the platform (`fixtures/platform-control.md`): actions that the published API lacks. */

import { rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { jsonOf } from '../../../harness/common/lenient.ts';
import { ownedFolder } from '../../../harness/common/owner.ts';
import { type Shape, shape, Type, type TypeOfShape } from '../../../harness/contract/shape.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import { controlRefusal } from '../../common/control-guard.ts';
import type { Core } from '../core.ts';
import { archiveDevice, assignGroup, disconnectAll, markConnected } from '../domain/devices.ts';
import { conflict, findRow } from '../domain/find.ts';
import { serverOf } from '../http/errors.ts';
import { PlatformError } from '../ports.ts';
import type { Renderer } from '../render.ts';
import type { DeviceRow } from '../store/rows.ts';
import { type Plans, planBody } from './plans.ts';

const START = 'start';

interface Done {
  said: string;
  status: 200 | 201 | 204;
  answer?: object;
}

const gone = (said: string): Done => ({ said, status: 204 });

interface Deed {
  method: 'POST' | 'DELETE';
  path: string;
  /** `id`: from the path. Throws PlatformError for a refused action. */
  act(id: string, body: unknown): Done;
}

const deed = (method: Deed['method'], path: string, act: Deed['act']): Deed => ({ method, path, act });

const groupBody = shape('Group', Type.Object({ group_id: Type.Union([Type.String(), Type.Null()]) }));
const snapshotBody = shape('Snapshot', Type.Object({ name: Type.String({ minLength: 1, maxLength: 200 }) }));

function bodyOf<S extends Shape>(body: unknown, wanted: S): TypeOfShape<S> {
  if (wanted.is(body)) return body as TypeOfShape<S>;
  const problems = wanted
    .problems(body ?? {})
    .map(({ path, message }) => `${path === '' ? 'the body' : path} ${message}`);
  throw new PlatformError(400, 'invalid_body', problems.join('; '));
}

export class PlatformControl implements Disposable {
  readonly plans: Plans;
  onChange: () => void = () => {};
  readonly #core: Core;
  readonly #renderer: Renderer;
  readonly #folder = ownedFolder('snapshots');
  readonly #snapshots = new Map<string, { file: string; standIns: readonly string[] }>();
  #lastFile = 0;

  constructor(core: Core, renderer: Renderer, plans: Plans) {
    this.#core = core;
    this.#renderer = renderer;
    this.plans = plans;
    plans.onChange = () => this.onChange();
    this.#take(START);
  }

  readonly deeds: Readonly<Record<string, Deed>> = {
    archive: deed('POST', '/devices/:id/archive', (id) => this.#device(archiveDevice(this.#core, id), 'archived')),
    online: deed('POST', '/devices/:id/online', (id) => this.#setOnline(id, true)),
    offline: deed('POST', '/devices/:id/offline', (id) => this.#setOnline(id, false)),
    group: deed('POST', '/devices/:id/group', (id, body) => {
      const { group_id } = bodyOf(body, groupBody);
      const row = assignGroup(this.#core, id, group_id);
      return this.#device(row, `in ${group_id === null ? 'no group' : findRow(this.#core, 'group', group_id).name}`);
    }),
    reset: deed('POST', '/reset', () => {
      this.#restore(START);
      this.plans.clear();
      return gone('reset to the start');
    }),
    snapshot: deed('POST', '/snapshots', (_id, body) => {
      const { name } = bodyOf(body, snapshotBody);
      if (name === START) throw conflict('snapshot_exists', `${START} is the state at the start, which stays as it is`);
      this.#take(name);
      return { said: `snapshot ${name} taken`, status: 201, answer: { name } };
    }),
    restore: deed('POST', '/snapshots/:id/restore', (name) => this.#restore(name)),
    drop: deed('DELETE', '/snapshots/:id', (name) => {
      if (name === START) throw conflict('snapshot_in_use', `${START} is the state at the start, which reset needs`);
      rmSync(this.#kept(name).file);
      this.#snapshots.delete(name);
      this.onChange();
      return gone(`snapshot ${name} dropped`);
    }),
    plan: deed('POST', '/plans', (_id, body) => {
      const answer = this.plans.add(bodyOf(body, planBody));
      return { said: `plan ${answer.id}: ${answer.method ?? 'every method'} ${answer.path}`, status: 201, answer };
    }),
    unplanAll: deed('DELETE', '/plans', () => {
      this.plans.clear();
      return gone('all plans dropped');
    }),
    unplan: deed('DELETE', '/plans/:id', (id) => {
      this.plans.remove(Number(id));
      return gone(`plan ${Number(id)} dropped`);
    }),
  };

  get snapshots(): string[] {
    return [...this.#snapshots.keys()].filter((name) => name !== START);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /**
   * A device that is set online answers pings without an agent, but applies no deployment. Setting it offline
   * disconnects an agent, which may reconnect.
   */
  #setOnline(id: string, online: boolean): Done {
    const row = findRow(this.#core, 'device', id);
    if (row.status === 'archived') throw conflict('device_archived', 'an archived device cannot be online or offline');
    if (online) this.#core.standIns.add(id);
    else {
      this.#core.standIns.delete(id);
      this.#core.messenger.disconnect(id);
    }
    return this.#device(markConnected(this.#core, row, online), online ? 'online, without an agent' : 'offline');
  }

  #device(row: DeviceRow, is: string): Done {
    const answer = this.#renderer.value('device', row, NEWEST_VERSION, {});
    return { said: `${answer['name']} is ${is}`, status: 200, answer };
  }

  #take(name: string): void {
    const file = join(this.#folder, `${++this.#lastFile}.db`);
    this.#core.store.saveTo(file);
    const before = this.#snapshots.get(name);
    this.#snapshots.set(name, { file, standIns: [...this.#core.standIns] });
    if (before !== undefined) rmSync(before.file);
    this.onChange();
  }

  /** Disconnects all agents, which then reconnect by themselves. */
  #restore(name: string): Done {
    const connected = this.#core.store.collections.device.where({ status: 'online' }).map(({ id }) => id);
    const { file, standIns } = this.#kept(name);
    this.#core.store.restoreFrom(file);
    this.#core.standIns.clear();
    for (const id of standIns) this.#core.standIns.add(id);
    disconnectAll(this.#core);
    for (const id of connected) this.#core.messenger.disconnect(id);
    return gone(`snapshot ${name} restored`);
  }

  #kept(name: string) {
    const kept = this.#snapshots.get(name);
    if (kept !== undefined) return kept;
    const known = [...this.#snapshots.keys()].map((each) => JSON.stringify(each)).join(', ');
    const message = `there is no snapshot ${JSON.stringify(name)}; there are: ${known}`;
    throw new PlatformError(404, 'snapshot_not_found', message);
  }
}

export interface PlatformInfo {
  url: string;
  agent_url: string;
  mqtt?: string;
  dialect: string;
}

export async function serveControl(
  control: PlatformControl,
  core: Core,
  info: PlatformInfo,
  { port, token }: { port: number; token: string },
) {
  const app = serverOf(core, {}, () => {});
  app.addHook('onRequest', async (request, reply) => {
    const refusal = controlRefusal(request.raw, token);
    if (refusal === undefined) return;
    reply.headers(refusal.headers ?? {});
    throw new PlatformError(refusal.status, refusal.code, refusal.message);
  });
  // Many clients send a JSON content type without a body.
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    const body = jsonOf(text);
    const isWrong = text !== '' && body === undefined;
    done(isWrong ? new PlatformError(400, 'invalid_json', 'the body is not JSON') : null, body);
  });
  app.setNotFoundHandler((request) => {
    throw new PlatformError(404, 'unknown_route', `the control API has no ${request.method} ${request.url}`);
  });
  app.get('/', () => ({ ...info, snapshots: control.snapshots, plans: control.plans.all }));
  app.get('/snapshots', () => ({ data: control.snapshots }));
  app.get('/plans', () => ({ data: control.plans.all }));
  for (const { method, path, act } of Object.values(control.deeds)) {
    app.route<{ Params: { id?: string } }>({
      method,
      url: path,
      handler: async ({ params: { id = '' }, body }, reply) => {
        const { status, answer } = act(id, body);
        return reply.code(status).send(answer);
      },
    });
  }
  await app.listen({ host: '127.0.0.1', port });
  const address = app.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${address.port}`, [Symbol.asyncDispose]: () => app.close() };
}
