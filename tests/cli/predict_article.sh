# The article's recommender: 58.2 % x 41.7 % x (1 - 1/1.552) = 8.63 %, from published shares.
E=${GOLDEN%/tests/golden}/docs/examples
kreach -q predict --json --shares "$E/article-dlrm.shares.json" --sigma "$E/article-dlrm.sigma.json" >json
python3 - <<'PYTHON'
import json
for p in json.load(open("json"))["predictions"]:
    print(p["mode"], f'{100 * p["saved_frac"]:.2f} %', p["speedup"])
PYTHON
