import type { AsyncCommand } from 'fast-check';
import { created, unique } from '../../support/create.ts';
import type { Platform } from '../../support/platform.ts';
import { ok, said } from '../../support/send.ts';
import { sendAs } from './forms.ts';
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
    const { rename } = real.forms;
    if (group === undefined || rename === undefined) return;
    const name = unique('group');
    const response = await sendAs(t, rename, { ...group, name });
    t.must(ok(response), { expected: `group ${group.id} to be renamed`, actual: said(response) });
    const renamed = created(response);
    if (renamed !== undefined && renamed.id !== group.id) {
      t.should(false, { expected: `${group.id} to keep its id when it is renamed`, actual: renamed.id });
      // What becomes of the groups below it nobody can tell: whatever is created from here on is a tree of its own.
      model.groups = [];
      return;
    }
    group.name = name;
    await agree(model, real);
  }

  toString(): string {
    return `rename(#${this.which})`;
  }
}
