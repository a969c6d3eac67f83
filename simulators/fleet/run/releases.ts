/** Releases of a fleet's roll-outs, and the previous release of each robot. */
import type { RolloutRow } from '../host/host.ts';
import type { ReleaseFixture } from '../platform/client.ts';

export class Releases {
  readonly #create: (label: string) => Promise<ReleaseFixture>;
  readonly #named = new Map<string, ReleaseFixture>();
  #round = 0;
  #newest: string | undefined;
  readonly #has = new Map<number, ReleaseFixture>();
  readonly #had = new Map<number, ReleaseFixture>();

  constructor(create: (label: string) => Promise<ReleaseFixture>) {
    this.#create = create;
  }

  /** Release of that name, created at its first use in a pass; without a name, a new one called `label`. */
  async of(name: string | undefined, label: string, round: number): Promise<ReleaseFixture> {
    if (round !== this.#round) this.#named.clear();
    this.#round = round;
    const known = name === undefined ? undefined : this.#named.get(name);
    if (known !== undefined) return known;
    const release = await this.#create(name ?? label);
    if (name !== undefined) this.#named.set(name, release);
    return release;
  }

  reached(release: ReleaseFixture, rows: readonly RolloutRow[]): void {
    this.#newest = release.releaseId;
    for (const { robot, deployment_id } of rows) {
      const has = this.#has.get(robot);
      if (deployment_id === null || has?.releaseId === release.releaseId) continue;
      if (has !== undefined) this.#had.set(robot, has);
      this.#has.set(robot, release);
    }
  }

  /** Robots with the newest release, grouped by their previous one. */
  get before(): { release: ReleaseFixture; robots: number[] }[] {
    const found = new Map<string, { release: ReleaseFixture; robots: number[] }>();
    for (const [robot, { releaseId }] of this.#has) {
      const release = this.#had.get(robot);
      if (releaseId !== this.#newest || release === undefined) continue;
      const group = found.get(release.releaseId) ?? { release, robots: [] };
      group.robots.push(robot);
      found.set(release.releaseId, group);
    }
    return [...found.values()];
  }
}
