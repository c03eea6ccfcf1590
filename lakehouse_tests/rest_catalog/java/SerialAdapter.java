package org.apache.iceberg.rest;

import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Collectors;
import org.apache.iceberg.MetadataUpdate;
import org.apache.iceberg.UpdateRequirement;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.requests.CommitTransactionRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequest;

/**
 * Iceberg's adapter, with one change at a time.
 *
 * <p>As shipped, {@code transactions/commit} checks the requirements and then commits table by table, and a race in
 * between is answered with 200 to both. One lock around everything that writes gives each race one winner. Reads take no
 * lock: between two tables of one transaction they see the first one moved, as with any catalog that is loaded table by
 * table.
 */
class SerialAdapter extends RESTCatalogAdapter {
  private final ReentrantLock lock;
  private final boolean ignoreBranches;

  SerialAdapter(Catalog catalog, ReentrantLock lock, boolean ignoreBranches) {
    super(catalog);
    this.lock = lock;
    this.ignoreBranches = ignoreBranches;
  }

  @Override
  public <T extends RESTResponse> T handleRequest(
      Route route, Map<String, String> vars, Object body, Class<T> responseType) {
    if (route.method() == HTTPRequest.HTTPMethod.GET || route.method() == HTTPRequest.HTTPMethod.HEAD) {
      return super.handleRequest(route, vars, body, responseType);
    }
    lock.lock();
    try {
      return super.handleRequest(route, vars, ignoreBranches ? withoutBranches(body) : body, responseType);
    } finally {
      lock.unlock();
    }
  }

  /** What a catalog makes of a commit that knows no branches: it lands on main, and "must be absent" is not checked. */
  private static Object withoutBranches(Object body) {
    if (body instanceof UpdateTableRequest) {
      return withoutBranches((UpdateTableRequest) body);
    } else if (body instanceof CommitTransactionRequest) {
      return new CommitTransactionRequest(
          ((CommitTransactionRequest) body)
              .tableChanges().stream().map(SerialAdapter::withoutBranches).collect(Collectors.toList()));
    }
    return body;
  }

  private static UpdateTableRequest withoutBranches(UpdateTableRequest request) {
    List<UpdateRequirement> requirements =
        request.requirements().stream().filter(SerialAdapter::isAboutMain).collect(Collectors.toList());
    List<MetadataUpdate> updates =
        request.updates().stream()
            .filter(update -> !(update instanceof MetadataUpdate.RemoveSnapshotRef))
            .map(SerialAdapter::onMain)
            .collect(Collectors.toList());
    return request.identifier() == null
        ? new UpdateTableRequest(requirements, updates)
        : UpdateTableRequest.create(request.identifier(), requirements, updates);
  }

  private static boolean isAboutMain(UpdateRequirement requirement) {
    if (requirement instanceof UpdateRequirement.AssertRefSnapshotID) {
      UpdateRequirement.AssertRefSnapshotID ref = (UpdateRequirement.AssertRefSnapshotID) requirement;
      return ref.refName().equals("main") && ref.snapshotId() != null;
    }
    return true;
  }

  private static MetadataUpdate onMain(MetadataUpdate update) {
    if (update instanceof MetadataUpdate.SetSnapshotRef) {
      MetadataUpdate.SetSnapshotRef ref = (MetadataUpdate.SetSnapshotRef) update;
      return ref.name().equals("main")
          ? ref
          : new MetadataUpdate.SetSnapshotRef(
              "main", ref.snapshotId(), org.apache.iceberg.SnapshotRefType.BRANCH, null, null, null);
    }
    return update;
  }
}
