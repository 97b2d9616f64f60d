package io.fovea.explorer;

import io.fovea.config.Durability;
import io.fovea.config.Protocol;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The main program: runs rounds, one per seed, until the time is up or a violation is found.
 *
 * <pre>
 *   --seed=N          seed of the first round; incremented for each further round
 *   --seconds=N       duration
 *   --features=A,B    only these; -A,-B: all but these
 *   --protocol=NAME   in all rounds
 *   --place=NAME      MEMORY, SIMULATED or FILE, in all rounds
 *   --durability=NAME in all rounds
 *   --same            all rounds have the setup of the first seed
 *   --keepgoing       continues with the next round after a violation, and counts
 *   --hang=N          seconds without progress that are a failure
 *   --kills=N         kills this many processes that use one database; another one follows it
 *   --pairs           fails if two features that may overlap never did
 *   --delays          delays threads at random sites of the engine, in most rounds
 *   --shrink          searches for the fewest features that fail, in other processes
 * </pre>
 *
 * <p>Exit status: 0: no violation; 1: a violation; 3: no progress.
 */
final class Explorer {
  /** Held strongly, since a collected logger loses its level. */
  private static final Logger QUIET = Logger.getLogger("io.fovea");

  private final Map<String, String> args = new TreeMap<>();
  private final Overlaps overlaps = new Overlaps();
  private final Map<String, Long> refusals = new TreeMap<>();
  private final Map<String, Integer> found = new TreeMap<>();
  private final Map<String, Integer> setups = new TreeMap<>();
  private long steps;
  private long kills;
  private long closes;
  private long lives;
  private long rounds;
  private long began;
  private volatile String current = "";

  private Explorer(String[] all) {
    for (String a : all) {
      int at = a.indexOf('=');
      args.put(at < 0 ? a : a.substring(0, at), at < 0 ? "" : a.substring(at + 1));
    }
  }

  public static void main(String[] all) throws Exception {
    boolean woven =
        Explorer.class.getClassLoader().getClass().getSimpleName().equals("DelayWeaver");
    if (!woven && List.of(all).contains("--delays")) {
      ClassLoader loader = new DelayWeaver(Explorer.class.getClassLoader());
      Method main = loader.loadClass(Explorer.class.getName()).getMethod("main", String[].class);
      main.setAccessible(true);
      main.invoke(null, (Object) all);
      return;
    }
    QUIET.setLevel(Level.OFF);
    Explorer e = new Explorer(all);
    Runtime.getRuntime().halt(e.run());
  }

  private String arg(String name, String otherwise) {
    return args.getOrDefault(name, otherwise);
  }

  static Set<Feature> features(String text) {
    Set<Feature> all = EnumSet.noneOf(Feature.class);
    boolean without = text.startsWith("-");
    if (text.isEmpty() || without) {
      all = EnumSet.allOf(Feature.class);
    }
    for (String name : text.split(",", -1)) {
      if (name.startsWith("-")) {
        all.remove(Feature.valueOf(name.substring(1)));
      } else if (!name.isEmpty()) {
        all.add(Feature.valueOf(name));
      }
    }
    return all;
  }

  private int run() throws Exception {
    long seed = Long.parseLong(arg("--seed", "1"));
    long seconds = Long.parseLong(arg("--seconds", "60"));
    Set<Feature> features = features(arg("--features", ""));
    String p = args.get("--protocol");
    Protocol protocol = p == null ? null : Protocol.valueOf(p);
    String w = args.get("--place");
    Setup.Place place = w == null ? null : Setup.Place.valueOf(w);
    String d = args.get("--durability");
    Durability durability = d == null ? null : Durability.valueOf(d);
    boolean same = args.containsKey("--same");
    boolean keepGoing = args.containsKey("--keepgoing");
    Path dir =
        args.containsKey("--dir")
            ? Files.createDirectories(Path.of(args.get("--dir")))
            : Files.createTempDirectory("explorer");
    began = System.nanoTime();
    if (args.containsKey("--child")) {
      return child(Setup.of(seed, protocol, Setup.Place.FILE), features, dir);
    }
    if (args.containsKey("--kills")) {
      return new Kills(seed, args).run(Integer.parseInt(args.get("--kills")));
    }
    long deadline = began + seconds * 1_000_000_000L;
    Watchdog watchdog = new Watchdog(Integer.parseInt(arg("--hang", "90")), stacks -> hang(stacks));
    int status = 0;
    for (long n = 0; System.nanoTime() < deadline; n++) {
      long s = same ? seed : seed + n;
      Setup setup = Setup.of(s, protocol, place, durability);
      Round round =
          new Round(
              setup,
              Round.suitable(setup, features),
              dir.resolve("round"),
              watchdog,
              ExpectedState.inMemory());
      current = replay(s) + "\n" + setup;
      Throwable wrong = null;
      try {
        round.run(deadline);
      } catch (Throwable t) {
        wrong = t;
      }
      rounds++;
      for (Enum<?> part :
          List.of(
              setup.protocol(),
              setup.translation(),
              setup.timestamps(),
              setup.durability(),
              setup.place())) {
        setups.merge(part.getDeclaringClass().getSimpleName() + '.' + part, 1, Integer::sum);
      }
      overlaps.add(round.overlaps);
      round.refusals.forEach((k, v) -> refusals.merge(k, v, Long::sum));
      steps += round.steps;
      kills += round.kills;
      closes += round.closes;
      lives += round.lives;
      if (wrong != null) {
        status = 1;
        report(wrong, n);
        if (!keepGoing) {
          break;
        }
      }
    }
    watchdog.stop();
    summary(System.out::println);
    if (status == 0 && args.containsKey("--pairs") && !overlaps.missing(used()).isEmpty()) {
      System.out.println("VIOLATION pairs of features have never overlapped");
      status = 1;
    }
    if (status != 0 && args.containsKey("--shrink")) {
      Shrinker.shrink(currentSeed(), features, args);
    }
    Copies.delete(dir);
    return status;
  }

  /** Runs lives until it is killed; reports progress on its output. */
  private int child(Setup setup, Set<Feature> features, Path dir) throws Exception {
    current = "child " + setup;
    Watchdog watchdog = new Watchdog(Integer.parseInt(arg("--hang", "90")), this::hang);
    ExpectedState expected = ExpectedState.in(dir.resolve("expected"));
    Set<Feature> all = Round.suitable(setup, features);
    Round round = new Round(setup, all, dir.resolve("files"), watchdog, expected);
    try {
      round.child(
          () -> {
            System.out.println("progress");
            System.out.flush();
          });
      return 0;
    } catch (Throwable t) {
      report(t, 0);
      return 1;
    }
  }

  private long currentSeed() {
    int at = current.indexOf("--seed=") + 7;
    return Long.parseLong(current.substring(at, current.indexOf(' ', at)));
  }

  private String replay(long seed) {
    StringBuilder s = new StringBuilder("replay: Explorer --seed=" + seed + " --same");
    args.forEach(
        (k, v) -> {
          if (!k.equals("--seed")
              && !k.equals("--same")
              && !k.equals("--dir")
              && !k.equals("--keepgoing")
              && !k.equals("--shrink")) {
            s.append(' ').append(k).append(v.isEmpty() ? "" : "=" + v);
          }
        });
    return s.toString();
  }

  private double seconds() {
    return (System.nanoTime() - began) / 1e9;
  }

  private void report(Throwable wrong, long n) {
    Throwable root = wrong;
    String text = String.valueOf(wrong.getMessage());
    String first = text.length() > 160 ? text.substring(0, 160) : text;
    first = first.replaceAll("[0-9]+", "N");
    if (found.merge(first, 1, Integer::sum) > 1) {
      return;
    }
    StringWriter w = new StringWriter();
    root.printStackTrace(new PrintWriter(w));
    System.out.printf(
        Locale.ROOT, "VIOLATION after %.0f s, round %d%n%s%n%s%n", seconds(), n, current, w);
  }

  private void hang(String stacks) {
    System.out.printf(Locale.ROOT, "STANDSTILL after %.0f s%n%s%n%s%n", seconds(), current, stacks);
    summary(System.out::println);
    System.out.flush();
    Runtime.getRuntime().halt(3);
  }

  private void summary(java.util.function.Consumer<String> out) {
    out.accept(
        String.format(
            Locale.ROOT,
            "summary: %d rounds, %d lives, %d steps, %d kills, %d closes in %.0f s; violations %d",
            rounds,
            lives,
            steps,
            kills,
            closes,
            seconds(),
            found.values().stream().mapToInt(i -> i).sum()));
    found.forEach((k, v) -> out.accept("found " + v + " x " + k));
    out.accept("rounds of setups " + setups);
    out.accept("refused " + refusals);
    out.accept(overlaps.table());
    out.accept("pairs that never overlapped: " + overlaps.missing(used()));
  }

  private Set<Feature> used() {
    Set<Feature> used = EnumSet.noneOf(Feature.class);
    for (Feature f : Feature.values()) {
      if (overlaps.begun.get(f.ordinal()) > 0) {
        used.add(f);
      }
    }
    return used;
  }
}
