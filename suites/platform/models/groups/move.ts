import type { AsyncCommand } from 'fast-check';
import type { Platform } from '../../support/platform.ts';
import { read } from '../../support/read.ts';
import { ok, refused, said } from '../../support/send.ts';
import { sendAs } from './forms.ts';
import { agree, type GroupModel, type GroupReality, line, nth, tooDeep } from './model.ts';

/** One group below another, or to the top: refused, or without effect, when that would close a circle. */
export class Move implements AsyncCommand<GroupModel, GroupReality> {
  readonly which: number;
  /** `undefined`: to the top. */
  readonly to: number | undefined;

  constructor(which: number, to: number | undefined) {
    this.which = which;
    this.to = to;
  }

  check({ groups }: GroupModel): boolean {
    return groups.length > 0;
  }

  async run(model: GroupModel, real: GroupReality): Promise<void> {
    const t: Platform = real.t;
    const group = nth(model.groups, this.which);
    const { move } = real.forms;
    if (group === undefined || move === undefined) return;
    const parent = this.to === undefined ? null : (nth(model.groups, this.to)?.id ?? null);
    const response = await sendAs(t, move, { ...group, parent });
    if (line(model, parent).includes(group.id)) {
      t.should(refused(response), { expected: 'a 4xx to a move below itself', actual: said(response) });
      // However it was answered, a circle is what may not come of it; a platform may mend the tree in its own way.
      if (ok(response)) await adopt(model, real);
    } else if (ok(response)) {
      group.parent = parent;
    } else {
      const needless = group.parent === parent || tooDeep(model, group.id, parent);
      t.must(needless, {
        expected: `group ${group.id} to be moved below ${parent ?? 'nothing'}`,
        actual: said(response),
      });
    }
    await agree(model, real);
  }

  toString(): string {
    return `move(#${this.which} ${this.to === undefined ? 'to the top' : `below #${this.to}`})`;
  }
}

async function adopt(model: GroupModel, { t, forms }: GroupReality): Promise<void> {
  for (const group of model.groups) {
    const parent = (await read(t, 'groups', group.id))[forms.parentField];
    group.parent = typeof parent === 'string' ? parent : null;
  }
}
