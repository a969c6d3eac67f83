import type TypeBox from 'typebox';

type Schema = Record<string, unknown>;

const OPTIONAL = '~optional';

const simple =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options });

const constructors = {
  String: simple('string'),
  Integer: simple('integer'),
  Number: simple('number'),
  Boolean: simple('boolean'),
  Null: simple('null'),
  Unknown: (options?: Schema): Schema => ({ ...options }),
  Literal: (value: unknown, options?: Schema): Schema => ({ type: typeof value, const: value, ...options }),
  Enum: (values: readonly unknown[], options?: Schema): Schema => ({ enum: values, ...options }),
  Union: (anyOf: readonly Schema[], options?: Schema): Schema => ({ anyOf, ...options }),
  Array: (items: Schema, options?: Schema): Schema => ({ type: 'array', items, ...options }),
  Record: (key: Schema, value: Schema, options?: Schema): Schema => ({
    type: 'object',
    patternProperties: { [`${key['pattern'] ?? '^.*$'}`]: value },
    ...options,
  }),
  Object: (properties: Record<string, Schema>, options?: Schema): Schema => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] ?? {})));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  Optional: (schema: Schema): Schema => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  Unsafe: (schema: Schema): Schema => schema,
  Ref: (to: string): Schema => ({ $ref: to }),
};

/** Builds schemas with TypeBox's types, but without TypeBox, which takes 100 ms to load in each process. */
export const Type = constructors as unknown as Pick<typeof TypeBox, keyof typeof constructors>;
