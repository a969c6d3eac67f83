import { type Console, serveConsole } from '../../../simulators/console/console.ts';
import { Feed } from '../../../simulators/console/feed.ts';
import type { FindingLine, WatchDocument } from '../../../simulators/console/page/watch/document.ts';
import { printable } from '../../common/terminal.ts';
import { UsageError } from '../../common/usage.ts';
import { exchangesOf } from '../../reports/exchanges.ts';
import type { JudgeLink } from '../../watch/judge-link.ts';
import type { LiveFigures } from '../../watch/judge-thread.ts';
import type { Relay } from '../../watch/relay.ts';
import { gapsIn, type LeadingFinding } from './reporting.ts';

export class WatchPage implements AsyncDisposable {
  readonly #feed: Feed<WatchDocument>;
  #console: Console | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(about: Pick<WatchDocument, 'api' | 'server' | 'began' | 'rules'>) {
    this.#feed = new Feed<WatchDocument>({
      ...about,
      clients: '',
      unreachable: null,
      connections: { open: 0, all: 0 },
      bytes: { client: 0, server: 0 },
      exchanges: 0,
      events: 0,
      ended: null,
      notJudged: [],
      findings: [],
      deeds: [],
    });
  }

  async serve(port: number): Promise<string> {
    try {
      this.#console = await serveConsole({ page: 'watch', title: 'Watch', feed: this.#feed, actions: {}, port });
    } catch (error) {
      throw new UsageError(`--ui-port ${port}: cannot be used (${(error as Error).message})`);
    }
    return this.#console.url;
  }

  follow(clients: string, relay: Relay, link: JudgeLink): void {
    this.#feed.set({ clients });
    this.#timer = setInterval(() => {
      const { connections } = this.#feed.document;
      this.#feed.set({ bytes: { ...link.carried }, connections: { ...connections, open: relay.open } });
    }, 500).unref();
  }

  live({ seen, decided }: LiveFigures): void {
    const { rules, connections } = this.#feed.document;
    this.#feed.set({
      connections: { ...connections, all: seen.connections },
      exchanges: seen.exchanges,
      events: seen.events,
      rules: { ...rules, decided },
      notJudged: gapsIn(seen),
    });
  }

  findings(leads: readonly LeadingFinding[]): void {
    const findings = leads.map(({ result, at, looked, followers }): FindingLine => {
      const { id, level, section, requirement, expected = '', actual = '', exchanges = [] } = result;
      const shown = exchangesOf(result);
      return {
        id,
        at,
        level,
        section,
        requirement,
        looked,
        followers,
        expected: printable(expected),
        actual: printable(actual),
        side: id.startsWith('client.') ? 'client' : 'server',
        exchanges: shown.map((each, index) => ({ ...each, curl: printable(exchanges[index]?.curl ?? '') })),
      };
    });
    this.#feed.set({ findings });
  }

  /** Reason of an outage; null ends the outage. */
  unreachable(why: string | null): void {
    this.#feed.set({ unreachable: why });
  }

  ended(why: string): void {
    this.#feed.set({ ended: why });
  }

  note(what: string): void {
    this.#feed.change({ append: 'deeds', items: [{ at: Date.now(), what }], keep: 300 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#console?.[Symbol.asyncDispose]();
  }
}
