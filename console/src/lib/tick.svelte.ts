// The present second, for texts such as `in 28 s`.

export function ticking(): { readonly now_ms: number } {
  let now_ms = $state(Date.now());
  $effect(() => {
    const timer = setInterval(() => (now_ms = Date.now()), 1_000);
    return () => clearInterval(timer);
  });
  return {
    get now_ms() {
      return now_ms;
    },
  };
}
