import type { AsyncCommand } from 'fast-check';
import { unique } from '../../platform/support/create.ts';
import type { Platform } from '../../platform/support/platform.ts';
import { ok, said, send } from '../../platform/support/send.ts';
import { agree, type GroupModel, type GroupReality, nth } from './model.ts';

/** A new name for one of the groups; its place stays. */
export class Rename implements AsyncCommand<GroupModel, GroupReality> {
  readonly which: number;

  constructor(which: number) {
    this.which = which;
  }

  check({ groups }: GroupModel): boolean {
    return groups.length > 0;
  }

  async run(model: GroupModel, real: GroupReality): Promise<void> {
    const t: Platform = real.t;
    const group = nth(model.groups, this.which);
    if (group === undefined) return;
    const name = unique('group');
    const response = await send(t, {
      method: 'PATCH',
      path: `/groups/${encodeURIComponent(group.id)}`,
      body: { name },
    });
    t.must(ok(response), { expected: `group ${group.id} to be renamed`, actual: said(response) });
    group.name = name;
    await agree(model, real);
  }

  toString(): string {
    return `rename(#${this.which})`;
  }
}
