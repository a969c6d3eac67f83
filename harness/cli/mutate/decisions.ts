/** Decisions of a simulator that the tests called for. */

/**
 * Behaviour that adds each decision to `taken`: a function when it is called, any other when it is read, even where it
 * is absent. `prefix` comes before the names.
 */
export const recordingDecisions = <T extends object>(behaviour: T, taken: Set<string>, prefix = ''): T =>
  new Proxy(behaviour, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      const decision = `${prefix}${String(name)}`;
      if (typeof value !== 'function') {
        taken.add(decision);
        return value;
      }
      return (...given: unknown[]): unknown => {
        taken.add(decision);
        return Reflect.apply(value, target, given);
      };
    },
  });
