package io.fovea.support;

import io.fovea.io.Directories;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Models directory entries on a disk that loses power. The engine works on real files below a
 * folder. Its operations on entries ({@link Directories}) are executed and recorded here.
 *
 * <pre>
 *   at the start   all entries are durable
 *   an operation   durable once the directory of its entry was synced after it; of a move, that of
 *                  the new name
 *   a cut          keeps every durable operation, and any subset of the others: none, all, random
 *                  ones. A move is atomic. The contents of a lost directory are lost
 * </pre>
 *
 * <p>There are cuts after each operation, before each sync (a cut after it adds no state), and
 * wherever the test requests one.
 *
 * <p><b>Not modeled:</b> file contents. A surviving file has its contents at the cut, or at its
 * deletion; {@link SimDisk} models contents. File systems that order their operations (ext4, XFS)
 * leave fewer states than this one.
 *
 * <p>At each cut the recorded entries are compared with the real ones, so an operation that
 * bypasses {@link Directories} fails. Lock files ({@code *.lock}) are ignored: nothing depends on
 * them after a power failure.
 *
 * <p>There may be only one instance per process, since it observes the whole engine; operations
 * outside of the folder are ignored. Thread-safe: operations in the folder are serialized.
 */
public final class EntryJournal implements Directories.Observer, AutoCloseable {
  private static final String LOCK = ".lock";

  /** A file, directory or link, independent of its name. */
  private static final class Node {
    final boolean directory;

    /** The target of a link. */
    final @Nullable Path link;

    /** The contents of a file that no longer has a name. */
    byte @Nullable [] last;

    Node(boolean directory, @Nullable Path link) {
      this.directory = directory;
      this.link = link;
    }
  }

  private record Place(Node directory, String name) {}

  /**
   * An operation.
   *
   * @param from the old entry of a move, or the deleted entry
   * @param to the created entry, or the new entry of a move
   */
  private record Operation(@Nullable Place from, @Nullable Place to, Node node, String text) {
    Node directory() {
      return to != null ? to.directory : from.directory;
    }

    void apply(Map<Place, Node> entries) {
      if (from != null) {
        entries.remove(from, node);
      }
      if (to != null) {
        entries.put(to, node);
      }
    }
  }

  /** An operation, and whether every cut keeps it. */
  private record Done(Operation operation, boolean durable) {}

  /**
   * A possible state after a cut. Equal entries have the same contents: a file that did not change
   * between two cuts has the same array.
   *
   * @param entries by path in the folder: the bytes of a file, the Path of a link, "" for a
   *     directory
   * @param lost the operations that were lost
   */
  public record Tree(Map<String, Object> entries, List<String> lost) {
    /** Creates the files in an empty folder. */
    public void writeTo(Path folder) throws IOException {
      for (Map.Entry<String, Object> e : entries.entrySet()) { // parents come first
        Path path = folder.resolve(e.getKey());
        switch (e.getValue()) {
          case byte[] bytes -> Files.write(path, bytes);
          case Path target -> Files.createSymbolicLink(path, target);
          default -> Files.createDirectory(path);
        }
      }
    }
  }

  /** A time at which the power may fail. */
  public static final class Cut {
    private final String when;
    private final Node root;
    private final Map<Place, Node> base;
    private final List<Done> done;
    private final Map<Node, byte[]> contents;

    private Cut(
        String when,
        Node root,
        Map<Place, Node> base,
        List<Done> done,
        Map<Node, byte[]> contents) {
      this.when = when;
      this.root = root;
      this.base = base;
      this.done = done;
      this.contents = contents;
    }

    /** Describes the time. */
    public String when() {
      return when;
    }

    /** Returns how many operations may be lost. */
    public int uncertain() {
      return (int) done.stream().filter(d -> !d.durable).count();
    }

    /**
     * Returns distinct states after the cut: with all operations, with the durable ones, with those
     * and the last one, and with random subsets.
     *
     * @param random the number of random subsets
     */
    public List<Tree> trees(Random r, int random) {
      List<Tree> all = new ArrayList<>();
      Set<Map<String, Object>> seen = new HashSet<>();
      Operation last = done.isEmpty() ? null : done.getLast().operation;
      for (int i = 0; i < (uncertain() == 0 ? 1 : 3 + random); i++) {
        int kind = i;
        Tree tree = tree(o -> kind == 0 || kind == 2 && o == last || kind > 2 && r.nextBoolean());
        if (seen.add(tree.entries)) {
          all.add(tree);
        }
      }
      return all;
    }

    private Tree tree(Predicate<Operation> keeps) {
      Map<Place, Node> entries = new HashMap<>(base);
      List<String> lost = new ArrayList<>();
      for (Done d : done) {
        if (d.durable || keeps.test(d.operation)) {
          d.operation.apply(entries);
        } else {
          lost.add(d.operation.text);
        }
      }
      Map<String, Object> files = new TreeMap<>();
      add(entries, root, "", files);
      return new Tree(files, lost);
    }

    private void add(Map<Place, Node> entries, Node at, String path, Map<String, Object> files) {
      entries.forEach(
          (place, node) -> {
            if (place.directory == at) {
              String name = path + place.name;
              Object what =
                  node.directory ? "" : node.link != null ? node.link : contents.get(node);
              files.put(name, Objects.requireNonNull(what, name));
              if (node.directory) {
                add(entries, node, name + "/", files);
              }
            }
          });
    }
  }

  /** Receives each cut, on the thread of the operation. */
  @FunctionalInterface
  public interface Listener {
    /** Called when the power may fail. */
    void cut(Cut cut);
  }

  private final Path folder;
  private final Listener listener;
  private final Node root = new Node(true, null);
  private final Map<Place, Node> now = new HashMap<>();
  private final Map<Place, Node> base;
  private final List<Operation> operations = new ArrayList<>();
  private final List<Boolean> durable = new ArrayList<>();
  private Map<Node, byte[]> contents = new HashMap<>();
  private @Nullable AssertionError failure;

  /** Observes the engine from now on; all existing entries of the folder are durable. */
  public EntryJournal(Path folder, Listener listener) throws IOException {
    this.folder = folder.toRealPath();
    this.listener = listener;
    for (String name : names()) {
      Path path = this.folder.resolve(name);
      now.put(
          place(path),
          new Node(
              Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS),
              Files.isSymbolicLink(path) ? Files.readSymbolicLink(path) : null));
    }
    this.base = new HashMap<>(now);
    Directories.observe(this);
  }

  /** Stops observing, and rethrows what an operation has thrown here. */
  @Override
  public synchronized void close() {
    Directories.observe(null);
    if (failure != null) {
      throw failure;
    }
  }

  @Override
  public <T> T run(
      Directories.Entry what, Path path, Path target, Directories.Operation<T> operation)
      throws IOException {
    Path from = real(path);
    Path to = real(target);
    if (!from.startsWith(folder)) {
      return operation.run();
    }
    synchronized (this) {
      String text = what + " " + folder.relativize(to);
      if (what == Directories.Entry.SYNC) {
        cut("before " + text);
        T result = operation.run();
        Node directory = node(from);
        for (int i = 0; i < operations.size(); i++) {
          if (operations.get(i).directory() == directory) {
            durable.set(i, true);
          }
        }
        return result;
      }
      Node before = nodeOrNull(to);
      if (before != null
          && !before.directory
          && before.link == null
          && (what == Directories.Entry.MOVE || what == Directories.Entry.DELETE)) {
        before.last = read(to);
      }
      try {
        return operation.run();
      } finally {
        if (note(what, from, to, text)) {
          cut("after " + text);
        }
      }
    }
  }

  /** Records an operation that may have failed; returns false if it had no effect. */
  private boolean note(Directories.Entry what, Path from, Path to, String text) throws IOException {
    Path entry =
        what == Directories.Entry.FILE && Files.isSymbolicLink(to) && Files.exists(to)
            ? to.toRealPath() // created through a link
            : to;
    Place place = place(entry);
    Node there = now.get(place);
    boolean exists = Files.exists(entry, LinkOption.NOFOLLOW_LINKS);
    Operation operation;
    switch (what) {
      case DIRECTORY, FILE -> {
        if (there != null || !exists) {
          return false;
        }
        Node made = new Node(what == Directories.Entry.DIRECTORY, null);
        operation = new Operation(null, place, made, text);
      }
      case MOVE -> {
        if (Files.exists(from)) {
          return false;
        }
        operation = new Operation(place(from), place, node(from), text);
      }
      default -> {
        if (there == null || exists) {
          return false;
        }
        operation = new Operation(place, null, there, text);
      }
    }
    operation.apply(now);
    operations.add(operation);
    durable.add(false);
    return true;
  }

  /** Cuts the power now. */
  public synchronized void cut(String when) {
    Set<String> real = names();
    Map<String, Node> known = new TreeMap<>();
    paths(root, "", known);
    if (!real.equals(known.keySet())) {
      failure =
          new AssertionError(
              when + ": entries changed without Directories: " + real + ", not " + known.keySet());
      throw failure;
    }
    // Two equal readings show the contents at one time, although other threads may write.
    Map<Node, byte[]> first = contents(known);
    for (Map<Node, byte[]> next; !same(first, next = contents(known)); ) {
      first = next;
    }
    Map<Node, byte[]> all = new HashMap<>();
    first.forEach(
        (node, bytes) -> {
          byte[] old = contents.get(node);
          all.put(node, old != null && Arrays.equals(old, bytes) ? old : bytes);
        });
    contents = all;
    List<Done> done = new ArrayList<>();
    for (int i = 0; i < operations.size(); i++) {
      Node node = operations.get(i).node;
      byte[] last = node.last;
      if (last != null) {
        all.putIfAbsent(node, last);
      }
      done.add(new Done(operations.get(i), durable.get(i)));
    }
    base.values()
        .forEach(
            n -> {
              if (n.last != null) {
                all.putIfAbsent(n, n.last);
              }
            });
    listener.cut(new Cut(when, root, base, done, all));
  }

  private Map<Node, byte[]> contents(Map<String, Node> known) {
    Map<Node, byte[]> all = new LinkedHashMap<>();
    known.forEach(
        (name, node) -> {
          if (!node.directory && node.link == null) {
            all.put(node, read(folder.resolve(name)));
          }
        });
    return all;
  }

  private static boolean same(Map<Node, byte[]> a, Map<Node, byte[]> b) {
    return a.keySet().stream().allMatch(n -> Arrays.equals(a.get(n), b.get(n)));
  }

  private void paths(Node at, String path, Map<String, Node> into) {
    now.forEach(
        (place, node) -> {
          if (place.directory == at) {
            into.put(path + place.name, node);
            if (node.directory) {
              paths(node, path + place.name + "/", into);
            }
          }
        });
  }

  /** Returns the real entries except locks, parents first. */
  private Set<String> names() {
    try (Stream<Path> all = Files.walk(folder)) {
      Set<String> names = new TreeSet<>();
      all.filter(p -> !p.equals(folder) && !p.toString().endsWith(LOCK))
          .forEach(p -> names.add(folder.relativize(p).toString()));
      return names;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Resolves links in the directory of a path. */
  private static Path real(Path path) throws IOException {
    Path absolute = path.toAbsolutePath().normalize();
    for (Path at = absolute.getParent(); at != null; at = at.getParent()) {
      if (Files.exists(at)) {
        return at.toRealPath().resolve(at.relativize(absolute));
      }
    }
    return absolute;
  }

  private Place place(Path path) {
    return new Place(node(path.getParent()), path.getFileName().toString());
  }

  private Node node(Path path) {
    Node node = nodeOrNull(path);
    if (node == null) {
      throw new AssertionError("created without Directories: " + path);
    }
    return node;
  }

  private @Nullable Node nodeOrNull(Path path) {
    Node at = root;
    if (!path.equals(folder)) {
      for (Path name : folder.relativize(path)) {
        at = now.get(new Place(at, name.toString()));
        if (at == null) {
          return null;
        }
      }
    }
    return at;
  }

  private static byte[] read(Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
