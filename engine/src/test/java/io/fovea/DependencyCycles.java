package io.fovea;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Finds dependency cycles between classes: their strongly connected components (Tarjan 1972). A
 * nested class counts as its outermost one.
 */
final class DependencyCycles {
  private final Map<String, Set<String>> uses = new TreeMap<>();
  private final Map<String, Integer> index = new HashMap<>();
  private final Map<String, Integer> low = new HashMap<>();
  private final Deque<String> open = new ArrayDeque<>();
  private final List<Set<String>> found = new ArrayList<>();

  private DependencyCycles(Collection<JavaClass> classes) {
    for (JavaClass c : classes) {
      uses.computeIfAbsent(outermost(c), k -> new TreeSet<>());
    }
    for (JavaClass c : classes) {
      for (Dependency d : c.getDirectDependenciesFromSelf()) {
        String target = outermost(d.getTargetClass().getBaseComponentType());
        if (uses.containsKey(target)) {
          uses.get(outermost(c)).add(target);
        }
      }
    }
  }

  static List<Set<String>> of(Collection<JavaClass> classes) {
    DependencyCycles circles = new DependencyCycles(classes);
    for (String c : circles.uses.keySet()) {
      if (!circles.index.containsKey(c)) {
        circles.visit(c);
      }
    }
    return circles.found;
  }

  private static String outermost(JavaClass c) {
    String name = c.getName();
    int nested = name.indexOf('$');
    return nested < 0 ? name : name.substring(0, nested);
  }

  private void visit(String c) {
    int mine = index.size();
    index.put(c, mine);
    low.put(c, mine);
    open.push(c);
    for (String used : uses.get(c)) {
      if (!index.containsKey(used)) {
        visit(used);
        low.merge(c, low.get(used), Math::min);
      } else if (open.contains(used)) {
        low.merge(c, index.get(used), Math::min);
      }
    }
    if (low.get(c) == mine) {
      Set<String> circle = new TreeSet<>();
      String member;
      do {
        member = open.pop();
        circle.add(member);
      } while (!member.equals(c));
      if (circle.size() > 1) {
        found.add(circle);
      }
    }
  }
}
