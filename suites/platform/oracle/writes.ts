import { inVersion } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { atLeast, NAMES_BY_DIALECT, type SupportedVersion } from '../../../harness/contract/versions.ts';
import { ok, refused } from '../support/requests.ts';
import { type Ask, askFor, type Exchange } from './exchange.ts';
import { type Explorer, operation } from './explorer.ts';
import { HOLDINGS } from './kinds.ts';
import type { KnownRecord } from './model.ts';

type Body = Record<string, unknown>;

type Format = 'json' | 'yaml';

export class Writes {
  readonly ex: Explorer;
  readonly #mark: string;
  #count = 0;
  last: Exchange | undefined;
  /** Parent that the platform shows for a group at the top. */
  #top: { value: unknown } | undefined;
  readonly bodies = new Map<string, Body>();
  readonly #tidied = new Set<KnownRecord>();

  constructor(ex: Explorer, mark: string) {
    this.ex = ex;
    this.#mark = mark;
  }

  /** New name of lowercase letters and digits alone, because no section states a rule for names. */
  name(): string {
    return `muster${this.#mark}x${this.#number}`;
  }

  get #number(): number {
    return ++this.#count;
  }

  /** `ids`: path ids of the record to change, its own id first; empty when the request creates a record. */
  async #post(id: string, version: string, body: Body, predicted = body, ids: readonly string[] = []) {
    const ask = askFor(operation(id), version, ids, { body });
    const query = this.#expansionsOf(ask);
    let exchange = await this.ex.write({ ...ask, query }, predicted);
    if (query.length > 0 && refused(exchange)) exchange = await this.ex.write(ask, predicted);
    // Asks for no expansions in later writes of this operation, because only they explain the refusal.
    if (exchange.query.length < query.length && ok(exchange)) this.ex.model.served.add(`${id} plain`);
    this.last = exchange;
    if (ok(exchange)) {
      if (ids.length === 0 && version === this.ex.newest) this.bodies.set(id, body);
      this.ex.model.served.add(`${id} ${version}`);
      const made = ids[0] ?? (exchange.json as { id?: string } | undefined)?.id;
      return this.ex.model.known(made, exchange.operation.kind);
    }
    const { lacking, model } = this.ex;
    const isExplained = exchange.isExcused === true || model.served.has(`${id} ${version}`);
    // A change may be refused for the state of its record.
    if (ids.length === 0 && !lacking.has(id) && !isExplained) lacking.set(id, exchange);
    return undefined;
  }

  /** Adds expansions only to a write that was served without any. */
  #expansionsOf({ operation: { id, kind }, version, body }: Ask): Ask['query'] {
    const { model, draw } = this.ex;
    if (kind === undefined || !model.served.has(`${id} ${version}`) || model.served.has(`${id} plain`)) return [];
    const { expansions } = RESOURCES[kind];
    const isMeant = (name: string) =>
      inVersion(expansions[name] ?? {}, version as SupportedVersion) && !name.startsWith('current_');
    const names = Object.keys(body as Body).length === 0 ? [] : Object.keys(expansions).filter(isMeant);
    return draw.some(names, model.notations.has('repeated') ? names.length : 1).map((name) => ['expand', name]);
  }

  renewed(body: Body): Body {
    const own = new RegExp(`muster${this.#mark}x\\d+|(?<=v\\d+\\.)\\d+(?=\\.0")`, 'g');
    const text = JSON.stringify(body);
    return JSON.parse(text.replaceAll(own, (name) => (/^\d/.test(name) ? `${this.#number}` : this.name())));
  }

  device(version: string): Promise<KnownRecord | undefined> {
    return this.#post('createDevice', version, { name: this.name() });
  }

  /** `isNatural`: the slug is the one that the name suggests, so that a renaming may change it by mistake. */
  configType(version: string, isNatural = false): Promise<KnownRecord | undefined> {
    const name = this.name();
    // Expects no slug, because a platform may derive another one.
    return this.#post('createConfigType', version, { name, slug: isNatural ? name : this.name() }, { name });
  }

  /** `slots`: number of slots; with 0, the server derives a path. */
  async schema(
    version: string,
    type: KnownRecord,
    options: { slots?: number; format?: Format; instanceFormat?: Format; documents?: unknown } = {},
  ): Promise<KnownRecord | undefined> {
    const { slots = 1, format = 'json', instanceFormat = 'json' } = options;
    const hasSlots = atLeast(version as SupportedVersion, 'everglades');
    const root = NAMES_BY_DIALECT[this.ex.t.versionHeader.startsWith('Miru') ? 'miru' : 'spec'].configRoot;
    const paths = Array.from({ length: slots }, () => `${root}/${this.name()}.${instanceFormat}`);
    const instance_slots = paths.map((filepath, place) => ({
      key: place === 0 ? 'default' : `slot${place}`,
      name: `Slot ${place}`,
      filepath,
      required: true,
    }));
    const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: this.name(), type: 'object' };
    const lines = Object.entries(schema).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
    const document = { name: `schema.${format}`, data: format === 'json' ? JSON.stringify(schema) : lines.join('') };
    const { documents = [document] } = options;
    const [filepath] = paths;
    const body = {
      config_type_ref: { id: type.id },
      language: 'jsonschema',
      format,
      documents,
      ...(slots > 0 && (hasSlots ? { instance_slots } : { instance_filepath: filepath })),
      ...(hasSlots && { instance_format: instanceFormat }),
    };
    const predicted = {
      config_type_id: type.id,
      language: body.language,
      documents,
      ...(slots > 0 && { instance_slots: paths.map((path) => ({ filepath: path })) }),
      ...(slots === 1 && { instance_filepath: filepath }),
    };
    return this.#post('createConfigSchema', version, body, predicted);
  }

  instance(version: string, schema: KnownRecord, content: { format: string; data: string }) {
    return this.#post('createConfigInstance', version, { config_schema_id: schema.id, content });
  }

  async release(version: string, schemas: readonly KnownRecord[]): Promise<KnownRecord | undefined> {
    const ids = schemas.map(({ id }) => id);
    const number = `v${Number.parseInt(this.#mark, 36)}.${this.#number}.0`;
    const predicted = { version: number, config_schemas: ids.toSorted() };
    const body = { version: number, config_schema_ids: ids };
    const made = await this.#post('createRelease', version, body, predicted);
    if (made !== undefined) return made;
    const commit = this.ex.draw.one(this.ex.model.of('git_commit'));
    if (commit === undefined) return undefined;
    const ofCommit = { ...body, git_commit_ref: { id: commit.id } };
    return this.#post('createRelease', version, ofCommit, { ...predicted, git_commit_id: commit.id });
  }

  /** `parent`: null means the top, undefined omits the member. */
  async group(parent: string | null | undefined): Promise<KnownRecord | undefined> {
    const body = { name: this.name(), ...(parent !== undefined && { parent_id: parent }) };
    const predicted = { name: body.name, ...this.below(parent) };
    const made = await this.#post('createGroup', this.ex.newest, body, predicted);
    if ((parent ?? null) === null) this.#top ??= made?.members.get('parent_id');
    return made;
  }

  /**
   * Expected `parent_id` below `parent`; at the top, that of the first top group, because a platform may have a root
   * group.
   */
  below(parent: string | null | undefined): Body {
    const above = parent ?? this.#top?.value;
    return above === undefined ? {} : { parent_id: above };
  }

  async change(version: string, record: KnownRecord, id: string, body: Body, predicted = body): Promise<void> {
    record.members.delete('updated_at');
    await this.#post(id, version, body, predicted, [record.id]);
    const isDone = record.kind === 'group' && this.last !== undefined && ok(this.last);
    if (isDone) this.ex.model.saw(id === 'moveGroup' ? 'moves' : 'renamings');
  }

  /** Everglades accepts no new slug (section 9, rule 2); older versions may. */
  async slug(version: string, type: KnownRecord): Promise<void> {
    if (!atLeast(version as SupportedVersion, 'everglades')) type.members.delete('slug');
    await this.change(version, type, 'updateConfigType', { slug: this.name() }, {});
  }

  async deployment(
    version: string,
    parts: { device: KnownRecord; release: KnownRecord; instances: readonly KnownRecord[] },
    options: { target?: string; parent?: string | null | undefined; description?: string } = {},
  ): Promise<KnownRecord | undefined> {
    const { target = 'staged', parent, description = `settings of ${this.name()} <größe> & "more"` } = options;
    const { device, release, instances } = parts;
    const ids = instances.map(({ id }) => id);
    const asked = { device_id: device.id, release_id: release.id, description, target_status: target };
    const body = { ...asked, config_instance_ids: ids, ...(parent !== undefined && { parent_id: parent }) };
    const predicted = { ...asked, config_instances: ids.toSorted() };
    this.#forgetStates(device);
    const made = await this.#post('createDeployment', version, body, predicted);
    if (made !== undefined) made.mayBeDeployed = target === 'deployed';
    return made;
  }

  async act(version: string, deployment: KnownRecord, action: 'deploy' | 'archive'): Promise<void> {
    const device = this.ex.model.known(String(deployment.members.get('device_id')?.value), 'device');
    if (device !== undefined) this.#forgetStates(device);
    // Records the time of the newest creation, because the deployment was not yet queued or archived by then.
    const { notYet, moments, mayBeDeployed } = deployment;
    const timing = action === 'deploy' ? 'queued' : 'archived';
    const mayBeSo = action === 'deploy' ? mayBeDeployed : moments.has(timing);
    if (!mayBeSo && !notYet.has(timing)) notYet.set(timing, this.ex.model.newestCreation);
    deployment.mayBeDeployed ||= action === 'deploy';
    const predicted = { target_status: action === 'deploy' ? 'deployed' : 'archived' };
    await this.#post(`${action}Deployment`, version, {}, predicted, [deployment.id]);
  }

  /** Forgets the states of a device and of its deployments, which a write to one deployment may change. */
  #forgetStates(device: KnownRecord): void {
    for (const name of ['current_deployment', 'current_release', 'status', 'updated_at']) device.members.delete(name);
    for (const { members } of this.ex.model.of('deployment')) {
      if (members.get('device_id')?.value !== device.id) continue;
      for (const [name, holding] of HOLDINGS.deployment) if (holding === 'timely') members.delete(name);
    }
  }

  /** Archives this run's deployments. Asks once for each, because one that is not archived at first may never be. */
  async tidy(): Promise<void> {
    const made = this.ex.model.of('deployment', true).filter((each) => !this.#tidied.has(each));
    for (const each of made) this.#tidied.add(each);
    const left = made.filter(({ members }) => members.get('target_status')?.value !== 'archived');
    await Promise.allSettled(left.map((deployment) => this.act(this.ex.newest, deployment, 'archive')));
  }
}
