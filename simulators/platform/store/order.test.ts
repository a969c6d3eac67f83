import { describe, expect, it } from 'vitest';
import { type OrderTerm, planOrder, totalOrder } from './order.ts';

const terms = (text: string): OrderTerm[] =>
  text.split(',').map((term) => {
    const [field = '', direction] = term.split(':');
    return { field, descending: direction === 'desc' };
  });

describe('a total order', () => {
  it('ends with the id, ascending unless the client chose its direction', () => {
    expect(totalOrder(terms('created_at:desc'))).toEqual(terms('created_at:desc,id:asc'));
    expect(totalOrder(terms('id:desc,created_at:asc'))).toEqual(terms('id:desc'));
    expect(totalOrder(terms('name:asc,name:desc'))).toEqual(terms('name:asc,id:asc'));
  });
});

describe('a plan', () => {
  it.for([
    ['id:asc', { order: 'id:asc', reversed: false }],
    ['id:desc', { order: 'id:asc', reversed: true }],
    ['created_at:desc,id:asc', { order: 'created_at:desc,id:asc', reversed: false }],
    ['created_at:desc,id:desc', { order: 'created_at:asc,id:asc', reversed: true }],
    ['created_at:asc,id:desc', { order: 'created_at:desc,id:asc', reversed: true }],
  ] as const)('serves %s from a kept order', ([text, plan]) => {
    expect(planOrder(terms(text), [])).toEqual(plan);
  });

  it('serves an order by facet one value at a time', () => {
    expect(planOrder(terms('status:desc,id:asc'), ['status'])).toEqual({
      order: 'id:asc',
      reversed: false,
      facet: { field: 'status', descending: true },
    });
  });

  it('leaves every other order to the database', () => {
    expect(planOrder(terms('name:asc,id:asc'), ['status'])).toBeUndefined();
    expect(planOrder(terms('created_at:asc,status:asc,id:asc'), ['status'])).toBeUndefined();
  });
});
