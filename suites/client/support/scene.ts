/** A situation of the job `follow`: the check plays the agent, and answers each request for the stream by hand. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLIENT_VARIABLES, type ClientPlace } from '../../../harness/contract/client.ts';
import { DEVICE_API_PREFIX } from '../../../harness/contract/versions.ts';
import { Blocked } from '../../../harness/runner/violation.ts';
import type { Client } from './context.ts';
import type { Heard } from './heard.ts';
import { addressAt, discoveryOf, placeOf, writeShared } from './places.ts';
import type { Sequence } from './sequence.ts';
import { AGAIN_PATIENCES, Situation, START_PATIENCES } from './situation.ts';
import { type Asked, Stage, type StagePlace } from './stage.ts';

export const EVENTS_PATH = `${DEVICE_API_PREFIX}/events`;

/** How the client of a situation is started. */
export interface SceneOptions {
  /** Beside the usual ones. */
  variables?: Readonly<Record<string, string>>;
  /** How the client reaches the server. Default: the first way that it knows. */
  place?: ClientPlace;
  /** Address of the server's port. Default: 127.0.0.1. */
  host?: string;
  /** Called when the server is there, before the client is started. */
  prepare?: (scene: Scene) => Promise<void>;
}

export class Scene extends Situation {
  /** Of the agent as it is now, for a discovery file. */
  token = randomBytes(16).toString('hex');
  /** Takes events from now on, which are no longer kept in `dispatched`. */
  sequence: Sequence | undefined;
  #taken = 0;
  #stage: Stage | undefined;
  /** Of agents that are gone. Their ports stay taken as long as the client runs. */
  readonly #left: Stage[] = [];
  #folder: string | undefined;

  /** Starts the server and then the client with the job `follow`. */
  static async follow(t: Client, options: SceneOptions = {}): Promise<Scene> {
    const { variables = {}, place = placeOf(t), host, prepare } = options;
    if (Situation.isSilent(t, 'follow'))
      throw new Blocked(`the client never asked for GET ${EVENTS_PATH} in an earlier situation`);
    const scene = new Scene(t, 'follow');
    try {
      await scene.#open(place, host);
      await prepare?.(scene);
      scene.start({ [CLIENT_VARIABLES.job]: 'follow', ...variables, ...scene.#address(place) }, scene.#folder);
      return scene;
    } catch (error) {
      await scene[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #open(place: ClientPlace, host?: string): Promise<void> {
    if (place !== 'url') this.#folder = mkdtempSync(join(tmpdir(), 'muster-client-'));
    await this.#listen(place === 'socket' ? { path: this.path('agent.sock') } : { host });
    if (place === 'discovery') this.writeDiscovery();
  }

  async #listen(at: StagePlace = {}): Promise<void> {
    this.timeline.hide(this.token);
    this.#stage = await Stage.open(at, {
      track: (what) => this.timeline.request(what),
      request: (asked) => this.#take(asked),
      changed: () => this.announce(),
    });
  }

  /** A path in the folder of this situation. */
  path(name: string): string {
    return join(this.#folder ?? '', name);
  }

  #address(place: ClientPlace): Record<string, string> {
    return addressAt(place, this.#stage?.url ?? '', (name) => this.path(name));
  }

  /** What the discovery file says of the server as it is now (section 5). */
  get discovery(): string {
    return discoveryOf(this.#stage?.url ?? '', this.token);
  }

  /** Writes the discovery file. */
  writeDiscovery(text = this.discovery): void {
    this.timeline.drives(`writes its discovery file: ${text}`);
    writeShared(this.path('agent.json'), text);
  }

  /** The agent comes back on another port, with another token. Its discovery file stays as it was. */
  async restart(): Promise<void> {
    this.timeline.drives('restarts on another port, with another token');
    const before = this.#stage;
    this.token = randomBytes(16).toString('hex');
    await this.#listen();
    await this.#leave(before);
  }

  /** For so many milliseconds nobody listens where the agent was. Then it is back in the same place. */
  async leave(ms: number): Promise<void> {
    const { place } = this.#stage ?? {};
    this.timeline.drives('stops listening');
    await this.#leave(this.#stage);
    await this.pause(ms);
    await this.#listen(place);
    this.timeline.drives('listens again');
  }

  async #leave(stage: Stage | undefined): Promise<void> {
    if (stage === undefined) return;
    this.#left.push(stage);
    await stage.leave();
  }

  /** Lets the client do what it does for so many milliseconds, or until it ends. */
  async pause(ms: number): Promise<void> {
    await this.until(() => undefined, ms, ms);
  }

  protected override keepLine(heard: Heard): void {
    if (heard.saw === 'event' && this.sequence !== undefined) this.sequence.take(heard);
    else super.keepLine(heard);
  }

  #take(asked: Asked): void {
    if (asked.path !== EVENTS_PATH || asked.method !== 'GET') asked.answer(404, { error: 'not found' });
    else if (!this.keep(asked)) asked.cut();
    this.announce();
  }

  /** Events that the client dispatched, in order. */
  get dispatched(): readonly Extract<Heard, { saw: 'event' }>[] {
    return this.heard.filter((heard) => heard.saw === 'event');
  }

  /** Whether it told of a gap, or of an end of its stream. */
  get told(): 'gap' | 'end' | undefined {
    return this.heard.find((heard) => heard.saw === 'gap')?.saw ?? this.heard.find((heard) => heard.saw === 'end')?.saw;
  }

  /** The next request for the stream. Blocked when the first one never comes: nothing is known of such a client. */
  async request(expected = 'the client to ask for the stream again'): Promise<Asked> {
    const index = this.#taken++;
    const patiences = index === 0 ? START_PATIENCES : AGAIN_PATIENCES;
    const asked = await this.until(() => this.asked[index], patiences * this.patienceMs);
    if (asked !== undefined) return asked;
    if (index === 0) this.neverAsked();
    if (index === 0) throw new Blocked(`the client never asked for GET ${EVENTS_PATH}: ${this.state}`);
    throw this.violation({ expected, actual: this.state });
  }

  /** Opens the stream that the client asks for next. */
  async stream(expected?: string): Promise<Asked> {
    return (await this.request(expected)).accept();
  }

  /** The next request for the stream if it comes within so many milliseconds, whatever else happens. */
  async requestWithin(ms: number): Promise<Asked | undefined> {
    const asked = await this.until(() => this.asked[this.#taken], ms, ms);
    if (asked !== undefined) this.#taken += 1;
    return asked;
  }

  /** Waits until the client has dispatched the event with that id. */
  async untilDispatched(id: string, expected = `event ${id} to be dispatched`): Promise<void> {
    const came = await this.until(() => (this.dispatched.some((heard) => heard.id === id) ? true : undefined));
    if (came === undefined) throw this.violation({ expected, actual: this.outcome });
  }

  /** What it dispatched and what it does, in words. */
  get outcome(): string {
    const ids = this.dispatched.map(({ id, type }) => `${id} ${type}`);
    return `dispatched ${ids.length === 0 ? 'nothing' : ids.slice(-20).join(', ')}; ${this.state}`;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    for (const stage of [...this.#left, this.#stage]) await stage?.[Symbol.asyncDispose]();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
