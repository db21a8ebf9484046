// Counters read twice: how fast they grow.

export class Meter {
  private before = new Map<string, number>();
  private at_ms = 0;

  /** Growth a second of each counter since the last reading; null where there was none before. */
  take(counts: Record<string, number>, now_ms: number): Record<string, number | null> {
    const s = (now_ms - this.at_ms) / 1000;
    const grown = Object.entries(counts).map(([name, value]): [string, number | null] => {
      const last = this.before.get(name);
      // What began anew counts from zero again.
      return [name, last === undefined || s <= 0 ? null : Math.max(0, value - last) / s];
    });
    this.before = new Map(Object.entries(counts));
    this.at_ms = now_ms;
    return Object.fromEntries(grown);
  }
}
