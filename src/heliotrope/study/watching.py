"""Watch the studies of a store, and estimate their models when that is due."""

from collections import OrderedDict

from heliotrope.storage import Store
from heliotrope.storage.protocol import StudyInfo
from heliotrope.study.estimators import Estimators
from heliotrope.study.study import Study

_PAGE = 1_000  # studies listed at a time
_HELD = 200  # studies in memory


class Watcher:
    """Looks for studies with new events, and begins the estimates that are due in them."""

    def __init__(self, store: Store, estimators: Estimators) -> None:
        self._store, self._estimators = store, estimators
        self._seen: dict[str, int] = {}  # number of events of each study
        self._held: OrderedDict[str, Study] = OrderedDict()

    def look(self) -> None:
        """Look at all studies with events that were not seen before."""
        after = ""
        while page := self._store.studies(after, _PAGE):
            for info in page:
                if self._seen.get(info.uid) != info.events:
                    self._seen[info.uid] = info.events
                    self._held_study(info).consider()
            after = page[-1].name

    def _held_study(self, info: StudyInfo) -> Study:
        study = self._held.pop(info.uid, None)
        if study is None:
            study = Study(self._store, info.name, estimators=self._estimators)
        self._held[info.uid] = study
        if len(self._held) > _HELD:
            self._held.popitem(last=False)
        return study
