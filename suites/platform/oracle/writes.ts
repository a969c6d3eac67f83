/** Creates and changes the records of the run. */
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { DIALECT_NAMES } from '../../../harness/contract/versions.ts';
import { ok } from '../support/requests.ts';
import type { Ask, Exchange } from './exchange.ts';
import { type Explorer, operation } from './explorer.ts';
import type { KnownRecord } from './model.ts';

type Body = Record<string, unknown>;

/** Makes names of records: `muster`, a mark of the run, and a number. */
export class Names {
  readonly mark: string;
  #count = 0;

  constructor(mark: string) {
    this.mark = mark;
  }

  /** Uses only lowercase letters and digits, because the specification states no rule for names. */
  next(): string {
    this.#count += 1;
    return `muster${this.mark}x${this.#count}`;
  }

  get number(): number {
    this.#count += 1;
    return this.#count;
  }
}

interface SchemaOptions {
  hasPath?: boolean;
  slots?: number;
  format?: 'json' | 'yaml';
  instanceFormat?: 'json' | 'yaml';
}

export class Writes {
  readonly ex: Explorer;
  readonly names: Names;
  last: Exchange | undefined;
  readonly bodies = new Map<string, Body>();

  constructor(ex: Explorer, names: Names) {
    this.ex = ex;
    this.names = names;
  }

  async #post(
    id: string,
    kind: ResourceKind,
    version: string,
    { body, predicted, ids = [] }: { body: Body; predicted: Body; ids?: readonly string[] },
  ): Promise<KnownRecord | undefined> {
    const ask: Ask = { operation: operation(id), version, key: 'full', ids, query: [], body };
    const exchange = await this.ex.write(ask, kind, predicted);
    this.last = exchange;
    if (ok(exchange)) {
      if (ids.length === 0 && version === this.ex.newest) this.bodies.set(id, body);
      this.ex.model.served.add(`${id} ${version}`);
      const made = (exchange.json as { id?: unknown } | undefined)?.id ?? ids[0];
      return typeof made === 'string' ? this.ex.model.records.get(made) : undefined;
    }
    const { lacking } = this.ex;
    if (!lacking.has(id)) lacking.set(id, exchange);
    return undefined;
  }

  renewed(body: Body): Body {
    const own = new RegExp(`muster${this.names.mark}x\\d+|(?<=v\\d+\\.)\\d+(?=\\.0")`, 'g');
    const text = JSON.stringify(body);
    return JSON.parse(text.replaceAll(own, (name) => (/^\d/.test(name) ? `${this.names.number}` : this.names.next())));
  }

  device(version: string): Promise<KnownRecord | undefined> {
    const name = this.names.next();
    return this.#post('createDevice', 'device', version, { body: { name }, predicted: { name } });
  }

  configType(version: string): Promise<KnownRecord | undefined> {
    const slug = this.names.next();
    const body = { name: this.names.next(), slug };
    return this.#post('createConfigType', 'config_type', version, { body, predicted: body });
  }

  async schema(version: string, type: KnownRecord, options: SchemaOptions = {}): Promise<KnownRecord | undefined> {
    const { hasPath = true, slots = 1, format = 'json', instanceFormat = 'json' } = options;
    const hasSlots = this.ex.atLeast(version, 'everglades');
    const paths = Array.from({ length: hasPath ? slots : 0 }, () => this.#path());
    const instance_slots = paths.map((filepath, place) => ({
      ...{ key: place === 0 ? 'default' : `slot${place}`, name: `Slot ${place}`, filepath, required: true },
    }));
    const schema = { $schema: JSON_SCHEMA, title: this.names.next(), type: 'object' };
    const lines = Object.entries(schema).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
    const document = {
      name: `schema.${format}`,
      data: format === 'json' ? JSON.stringify(schema) : lines.join(''),
    };
    const [filepath] = paths;
    const body = {
      config_type_ref: { id: type.id },
      language: 'jsonschema',
      format,
      documents: [document],
      ...(hasPath && (hasSlots ? { instance_slots } : { instance_filepath: filepath })),
      ...(hasSlots && { instance_format: instanceFormat }),
    };
    const predicted = {
      ...{ config_type_id: type.id, language: body.language, documents: [document] },
      ...(hasPath && { instance_slots: paths.map((path) => ({ filepath: path })) }),
      ...(paths.length === 1 && { instance_filepath: filepath }),
    };
    return this.#post('createConfigSchema', 'config_schema', version, { body, predicted });
  }

  #path(): string {
    const root = DIALECT_NAMES[this.ex.t.versionHeader.startsWith('Miru') ? 'miru' : 'spec'].configRoot;
    return `${root}/${this.names.next()}.json`;
  }

  instance(version: string, schema: KnownRecord, content: { format: string; data: string }) {
    const body = { config_schema_id: schema.id, content };
    return this.#post('createConfigInstance', 'config_instance', version, { body, predicted: body });
  }

  async release(version: string, schemas: readonly KnownRecord[]): Promise<KnownRecord | undefined> {
    const ids = schemas.map(({ id }) => id);
    const number = `v${Number.parseInt(this.names.mark, 36)}.${this.names.number}.0`;
    const predicted = { version: number, config_schemas: ids.toSorted() };
    const body = { version: number, config_schema_ids: ids };
    const made = await this.#post('createRelease', 'release', version, { body, predicted });
    if (made !== undefined) return made;
    const commit = this.ex.draw.one(this.ex.model.of('git_commit'));
    if (commit === undefined) return undefined;
    const withCommit = { ...body, git_commit_ref: { id: commit.id } };
    return this.#post('createRelease', 'release', version, {
      body: withCommit,
      predicted: { ...predicted, git_commit_id: commit.id },
    });
  }

  /** Creates a group below `parent`: null means the top, undefined omits the member. */
  group(version: string, parent: string | null | undefined): Promise<KnownRecord | undefined> {
    const body = { name: this.names.next(), ...(parent !== undefined && { parent_id: parent }) };
    const predicted = { name: body.name, parent_id: parent ?? null };
    return this.#post('createGroup', 'group', version, { body, predicted });
  }

  async rename(version: string, record: KnownRecord, operationId: string): Promise<void> {
    const change = { name: this.names.next() };
    this.#forgetTimes(record);
    await this.#change(operationId, record, version, { body: change, predicted: change });
  }

  async move(version: string, record: KnownRecord, parent: string | null): Promise<void> {
    const change = { parent_id: parent };
    this.#forgetTimes(record);
    await this.#change('moveGroup', record, version, { body: change, predicted: change });
  }

  #change(id: string, { id: of, kind }: KnownRecord, version: string, change: { body: Body; predicted: Body }) {
    return this.#post(id, kind, version, { ...change, ids: [of] });
  }

  /** Sends a new slug, which everglades does not accept (section 9, rule 2) and older versions may accept. */
  async slug(version: string, type: KnownRecord): Promise<void> {
    const slug = this.names.next();
    this.#forgetTimes(type);
    if (!this.ex.atLeast(version, 'everglades')) type.members.delete('slug');
    await this.#change('updateConfigType', type, version, { body: { slug }, predicted: {} });
  }

  async deployment(
    version: string,
    parts: { device: KnownRecord; release: KnownRecord; instances: readonly KnownRecord[] },
    { target = 'staged', parent }: { target?: string; parent?: string | null | undefined } = {},
  ): Promise<KnownRecord | undefined> {
    const { device, release, instances } = parts;
    const ids = instances.map(({ id }) => id);
    const asked = {
      device_id: device.id,
      release_id: release.id,
      description: `settings of ${this.names.next()} <größe> & "more"`,
      target_status: target,
    };
    const body = { ...asked, config_instance_ids: ids, ...(parent !== undefined && { parent_id: parent }) };
    const predicted = { ...asked, config_instances: ids.toSorted() };
    this.#forgetStates(device);
    const made = await this.#post('createDeployment', 'deployment', version, { body, predicted });
    if (made !== undefined) made.mayBeDeployed = target === 'deployed';
    return made;
  }

  async act(version: string, deployment: KnownRecord, action: 'deploy' | 'archive'): Promise<void> {
    const device = this.ex.model.records.get(String(deployment.members.get('device_id')?.value));
    if (device !== undefined) this.#forgetStates(device);
    const target = action === 'deploy' ? 'deployed' : 'archived';
    const id = action === 'deploy' ? 'deployDeployment' : 'archiveDeployment';
    if (action === 'deploy') deployment.mayBeDeployed = true;
    await this.#change(id, deployment, version, { body: {}, predicted: { target_status: target } });
  }

  /** Forgets the states of a device and of its deployments, which a write to one deployment may change. */
  #forgetStates(device: KnownRecord): void {
    const siblings = this.ex.model
      .of('deployment')
      .filter((each) => each.members.get('device_id')?.value === device.id);
    for (const name of ['current_deployment', 'current_release', 'status']) device.members.delete(name);
    for (const record of [device, ...siblings]) this.#forgetTimes(record);
    for (const sibling of siblings) for (const name of STATES) sibling.members.delete(name);
  }

  #forgetTimes(record: KnownRecord): void {
    record.members.delete('updated_at');
  }

  async tidy(): Promise<void> {
    const made = this.ex.model.of('deployment', true);
    const left = made.filter(({ members }) => members.get('target_status')?.value !== 'archived');
    await Promise.allSettled(left.map((deployment) => this.act(this.ex.newest, deployment, 'archive')));
  }
}

const STATES = [
  ...['status', 'activity_status', 'error_status', 'target_status'],
  ...['queued_at', 'deployed_at', 'archived_at'],
];
const JSON_SCHEMA = 'https://json-schema.org/draft/2020-12/schema';
