package io.fovea.checker;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The precedence graph. Edges are numbered in insertion order; nodes are numbers below a limit. */
final class Graph {
  /** The second overwrote what the first wrote. */
  static final int WW = 1;

  /** The second saw what the first wrote. */
  static final int WR = 2;

  /** The second overwrote what the first saw. */
  static final int RW = 4;

  /** Flag: the read was of an interval or a group. */
  static final int PREDICATE = 8;

  /** Flag: the key was not found. */
  static final int MISSING = 16;

  static final int ALL = WW | WR | RW;

  /** The first was acknowledged before a crash, and the second began after it. */
  static final int CRASH = 32;

  private final int nodes;
  private int edges;
  private int[] from = new int[1024];
  private int[] to = new int[1024];
  private int[] kind = new int[1024];
  private int[] version = new int[1024];
  private @Nullable Versions[] versions = new Versions[1024];

  private int[] start = {};
  private int[] out = {};

  Graph(int nodes) {
    this.nodes = nodes;
  }

  /**
   * Adds an edge, unless it leads from a node to itself.
   *
   * @param version for WW and WR that of {@code a}'s write, for RW that of {@code b}'s
   */
  void add(int a, int b, int kinds, @Nullable Versions key, int version) {
    if (a == b || a < 0 || b < 0) {
      return;
    }
    if (edges == from.length) {
      int n = edges * 2;
      from = Arrays.copyOf(from, n);
      to = Arrays.copyOf(to, n);
      kind = Arrays.copyOf(kind, n);
      this.version = Arrays.copyOf(this.version, n);
      versions = Arrays.copyOf(versions, n);
    }
    from[edges] = a;
    to[edges] = b;
    kind[edges] = kinds;
    this.version[edges] = version;
    versions[edges++] = key;
  }

  int edges() {
    return edges;
  }

  int from(int e) {
    return from[e];
  }

  int to(int e) {
    return to[e];
  }

  int kind(int e) {
    return kind[e];
  }

  Versions key(int e) {
    Versions v = versions[e];
    if (v == null) {
      throw new IllegalStateException("edge " + e + " is about no key");
    }
    return v;
  }

  int version(int e) {
    return version[e];
  }

  /** Sorts the edges by origin; no edges may be added afterwards. */
  void arrange() {
    start = new int[nodes + 1];
    for (int e = 0; e < edges; e++) {
      start[from[e] + 1]++;
    }
    for (int i = 0; i < nodes; i++) {
      start[i + 1] += start[i];
    }
    out = new int[edges];
    int[] next = Arrays.copyOf(start, nodes);
    for (int e = 0; e < edges; e++) {
      out[next[from[e]]++] = e;
    }
  }

  /**
   * Returns the strongly connected components of more than one node, over some kinds of edges.
   * After Tarjan, Depth-first search and linear graph algorithms, 1972; without recursion.
   */
  List<int[]> components(int kinds) {
    List<int[]> found = new ArrayList<>();
    int[] index = new int[nodes];
    int[] low = new int[nodes];
    int[] at = Arrays.copyOf(start, nodes);
    boolean[] onStack = new boolean[nodes];
    int[] stack = new int[nodes];
    int[] path = new int[nodes];
    int depth = 0;
    int stacked = 0;
    int counter = 0;
    for (int root = 0; root < nodes; root++) {
      if (index[root] != 0) {
        continue;
      }
      path[depth++] = root;
      while (depth > 0) {
        int v = path[depth - 1];
        if (index[v] == 0) {
          index[v] = ++counter;
          low[v] = counter;
          stack[stacked++] = v;
          onStack[v] = true;
        }
        int w = -1;
        while (at[v] < start[v + 1]) {
          int e = out[at[v]++];
          if ((kind[e] & kinds) == 0) {
            continue;
          }
          if (index[to[e]] == 0) {
            w = to[e];
            break;
          }
          if (onStack[to[e]]) {
            low[v] = Math.min(low[v], index[to[e]]);
          }
        }
        if (w >= 0) {
          path[depth++] = w;
          continue;
        }
        depth--;
        if (depth > 0) {
          low[path[depth - 1]] = Math.min(low[path[depth - 1]], low[v]);
        }
        if (low[v] == index[v]) {
          int top = stacked;
          do {
            onStack[stack[--stacked]] = false;
          } while (stack[stacked] != v);
          if (top - stacked > 1) {
            found.add(Arrays.copyOfRange(stack, stacked, top));
          }
        }
      }
    }
    return found;
  }

  /** Returns the edges within a component, of some kinds; {@code members} flags its nodes. */
  int[] within(int[] component, boolean[] members, int kinds) {
    List<Integer> found = new ArrayList<>();
    for (int v : component) {
      for (int i = start[v]; i < start[v + 1]; i++) {
        if ((kind[out[i]] & kinds) != 0 && members[to[out[i]]]) {
          found.add(out[i]);
        }
      }
    }
    return found.stream().mapToInt(Integer::intValue).toArray();
  }

  /**
   * Returns the shortest cycle that starts with an edge and continues with some kinds of edges.
   *
   * @param members flags the nodes that it may visit
   * @param bound only cycles with fewer edges count
   * @return its edges, or null
   */
  int @Nullable [] cycle(int first, int kinds, boolean[] members, int bound) {
    int target = from[first];
    int source = to[first];
    Map<Integer, Integer> by = new HashMap<>();
    by.put(source, first);
    ArrayDeque<Integer> queue = new ArrayDeque<>();
    queue.add(source);
    int length = 1;
    while (!queue.isEmpty() && length + 1 < bound) {
      length++;
      for (int n = queue.size(); n > 0; n--) {
        int v = queue.remove();
        for (int i = start[v]; i < start[v + 1]; i++) {
          int e = out[i];
          int w = to[e];
          if ((kind[e] & kinds) == 0 || !members[w] || by.containsKey(w)) {
            continue;
          }
          by.put(w, e);
          if (w == target) {
            return path(w, length, by);
          }
          queue.add(w);
        }
      }
    }
    return null;
  }

  private int[] path(int last, int length, Map<Integer, Integer> by) {
    int[] path = new int[length];
    int v = last;
    for (int i = length - 1; i >= 0; i--) {
      path[i] = by.get(v);
      v = from[path[i]];
    }
    return path;
  }
}
