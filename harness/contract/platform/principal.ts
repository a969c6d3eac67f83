/** Who a key belongs to. */
import Type, { type Static } from 'typebox';
import type { Operation } from './operation.ts';

const schema = Type.Object({ object: Type.Literal('principal'), id: Type.String(), name: Type.String() });
export type Principal = Static<typeof schema>;

export const principalOperations: Operation[] = [
  {
    id: 'getSelf',
    method: 'GET',
    path: '/principal',
    summary: 'Who the key belongs to',
    tag: 'Principal',
    scopes: [],
    answer: { name: 'Principal', schema },
  },
];
