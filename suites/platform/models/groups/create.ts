import type { AsyncCommand } from 'fast-check';
import { created, unique } from '../../support/create.ts';
import type { Platform } from '../../support/platform.ts';
import { refused, said, send } from '../../support/send.ts';
import { agree, type GroupModel, type GroupReality, nth, tooDeep } from './model.ts';

/** A new group below one of those that are there. */
export class Create implements AsyncCommand<GroupModel, GroupReality> {
  readonly below: number;

  constructor(below: number) {
    this.below = below;
  }

  check(): boolean {
    return true;
  }

  async run(model: GroupModel, real: GroupReality): Promise<void> {
    const t: Platform = real.t;
    const parent = nth(model.groups, this.below)?.id ?? null;
    const name = unique('group');
    const response = await send(t, {
      method: 'POST',
      path: '/groups',
      body: { name, [real.forms.parentField]: parent },
    });
    if (tooDeep(model, undefined, parent) && refused(response)) return;
    const group = created(response);
    t.must(group !== undefined, {
      expected: `a group below ${parent ?? 'nothing'} to be created`,
      actual: said(response),
    });
    model.groups.push({ id: group.id, name, parent });
    await agree(model, real);
  }

  toString(): string {
    return `create(below #${this.below})`;
  }
}
